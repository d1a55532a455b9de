import { applied, defineHandlers, ignored, superseded } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** A payment under way decides nothing; only money does. */
const handlers = defineHandlers({
  'checkout.session.completed': async (event, tx) => {
    const { payment_status: paymentStatus, metadata } = objectOf(event);
    if (paymentStatus !== 'paid') return ignored('payment_under_way');
    const { rowCount } = await tx.query(
      `update orders set status = 'paid' where id = $1 and status = 'awaiting_payment'`,
      [metadata.order_id],
    );
    return rowCount === 1 ? applied() : superseded();
  },
  'checkout.session.async_payment_succeeded': async (event, tx) => {
    const { rowCount } = await tx.query(
      `update orders set status = 'paid' where id = $1 and status = 'awaiting_payment'`,
      [objectOf(event).metadata.order_id],
    );
    return rowCount === 1 ? applied() : superseded();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: addOrder,
  events: [
    shopEvent('checkout.session.completed', { payment_status: 'unpaid' }),
    shopEvent('checkout.session.async_payment_succeeded', { payment_status: 'paid' }),
  ],
  state: readOrders,
});

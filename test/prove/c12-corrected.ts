import { applied, defineHandlers, superseded } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** A failed attempt is not a failed order, and nothing but money decides. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    await tx.query(`update orders set status = 'paid' where id = $1 and status in ('awaiting_payment', 'failed')`, [
      objectOf(event).metadata.order_id,
    ]);
    return applied();
  },
  'payment_intent.payment_failed': async (event, tx) => {
    const { rowCount } = await tx.query(
      `update orders set status = 'failed' where id = $1 and status = 'awaiting_payment'`,
      [objectOf(event).metadata.order_id],
    );
    return rowCount === 1 ? applied() : superseded();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: addOrder,
  events: [shopEvent('payment_intent.payment_failed', {}), shopEvent('payment_intent.succeeded', {})],
  state: readOrders,
});

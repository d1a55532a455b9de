import { applied, defineHandlers } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** C33: a payment locks the order and then its customer, a refund the customer and then the order. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { amount, metadata } = objectOf(event);
    await tx.query('update orders set paid_minor = $2 where id = $1', [metadata.order_id, amount]);
    await tx.query(`update customers set paid_once = true where id = 'cus_1'`);
    return applied();
  },
  'charge.refunded': async (event, tx) => {
    const { amount, metadata } = objectOf(event);
    await tx.query(`update customers set refunded_once = true where id = 'cus_1'`);
    await tx.query('update orders set refunded_minor = $2 where id = $1', [metadata.order_id, amount]);
    return applied();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: addOrder,
  events: [shopEvent('payment_intent.succeeded', { amount: 5000 }), shopEvent('charge.refunded', { amount: 5000 })],
  state: readOrders,
});

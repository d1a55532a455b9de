import { applied, defineHandlers, ignored } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** C14: a payment that lands before its order is stored is answered and forgotten. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { rowCount } = await tx.query(`update orders set status = 'paid' where id = $1`, [
      objectOf(event).metadata.order_id,
    ]);
    return rowCount === 1 ? applied() : ignored('unknown_order');
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  events: [shopEvent('payment_intent.succeeded', {})],
  steps: { 'the checkout stores the order': (tx) => addOrder(tx) },
  state: readOrders,
});

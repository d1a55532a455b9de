import { applied, defineHandlers } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** Two statements are sent without awaiting the first, which the session answers one after the other. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { amount, metadata } = objectOf(event);
    await Promise.all([
      tx.query('update orders set paid_minor = $2 where id = $1', [metadata.order_id, amount]),
      tx.query(`update orders set status = 'paid' where id = $1`, [metadata.order_id]),
    ]);
    return applied();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: addOrder,
  events: [shopEvent('payment_intent.succeeded', { amount: 5000 })],
  state: readOrders,
});

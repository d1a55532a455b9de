import { applied, defineHandlers } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

const refunded: string[] = [];

/** The provider is called while the transaction is open: what is rolled back was refunded all the same. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const order = objectOf(event).metadata.order_id;
    refunded.push(order);
    await tx.query('update orders set refunded_minor = total_minor where id = $1', [order]);
    return applied();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: (db) => addOrder(db, 'canceled'),
  events: [shopEvent('payment_intent.succeeded', { amount: 5000 })],
  state: readOrders,
  effects: () => refunded,
  reset: () => {
    refunded.length = 0;
  },
});

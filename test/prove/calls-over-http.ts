import { applied, defineHandlers } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** The warehouse is told while the transaction is open; that nobody answers there is not the point. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    await tx.query(`update orders set status = 'paid' where id = $1`, [objectOf(event).metadata.order_id]);
    await fetch('http://127.0.0.1:59999/warehouse', { method: 'POST' }).catch(() => undefined);
    return applied();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: addOrder,
  events: [shopEvent('payment_intent.succeeded', {})],
  state: readOrders,
});

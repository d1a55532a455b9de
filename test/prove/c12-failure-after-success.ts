import { applied, defineHandlers } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** C12: the first card's failure, told late, flips a paid order to failed. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    await tx.query(`update orders set status = 'paid' where id = $1`, [objectOf(event).metadata.order_id]);
    return applied();
  },
  'payment_intent.payment_failed': async (event, tx) => {
    await tx.query(`update orders set status = 'failed' where id = $1`, [objectOf(event).metadata.order_id]);
    return applied();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: addOrder,
  events: [shopEvent('payment_intent.payment_failed', {}), shopEvent('payment_intent.succeeded', {})],
  state: readOrders,
});

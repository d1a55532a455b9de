import { applied, defineHandlers, duplicate, wait } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** What is not there yet is waited for. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const order = objectOf(event).metadata.order_id;
    const { rows } = await tx.query<{ status: string }>('select status from orders where id = $1 for update', [order]);
    if (rows[0] === undefined) return wait('unknown_order');
    if (rows[0].status === 'paid') return duplicate();
    await tx.query(`update orders set status = 'paid' where id = $1`, [order]);
    return applied();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  events: [shopEvent('payment_intent.succeeded', {})],
  steps: { 'the checkout stores the order': (tx) => addOrder(tx) },
  state: readOrders,
});

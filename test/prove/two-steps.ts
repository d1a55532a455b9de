import { applied, defineHandlers, duplicate, wait } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** The payment is noted whatever became of the order meanwhile. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { amount, metadata } = objectOf(event);
    const { rows } = await tx.query<{ paid_minor: string }>('select paid_minor from orders where id = $1 for update', [
      metadata.order_id,
    ]);
    if (rows[0] === undefined) return wait('unknown_order');
    if (rows[0].paid_minor !== '0') return duplicate();
    await tx.query('update orders set paid_minor = $2 where id = $1', [metadata.order_id, amount]);
    return applied();
  },
});

/** An order cannot be canceled before it is stored: only places among the events are a matter of chance. */
export const proof = defineProof({
  handlers,
  setup: createShop,
  events: [shopEvent('payment_intent.succeeded', { amount: 5000 })],
  steps: {
    'the checkout stores the order': (tx) => addOrder(tx),
    'the customer cancels it': (tx) => tx.query(`update orders set status = 'canceled' where id = 'o_1'`),
  },
  state: readOrders,
});

import { applied, defineHandlers } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** C21: whatever amount comes, in whatever currency, settles the order. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { amount, metadata } = objectOf(event);
    await tx.query(`update orders set status = 'paid', paid_minor = $2 where id = $1 and status <> 'paid'`, [
      metadata.order_id,
      amount,
    ]);
    return applied();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: addOrder,
  events: [
    shopEvent('payment_intent.succeeded', { amount: 100, currency: 'vnd' }, 'weak'),
    shopEvent('payment_intent.succeeded', { amount: 5000, currency: 'usd' }, 'full'),
  ],
  state: readOrders,
  invariants: {
    'a paid order was paid in full': async (db) => {
      const { rows } = await db.query(`select from orders where status = 'paid' and paid_minor <> total_minor`);
      return rows.length === 0;
    },
  },
});

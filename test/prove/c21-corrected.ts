import { applied, defineHandlers, duplicate, quarantine } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** The order says what it costs; anything else is for a person. */
const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { amount, currency, metadata } = objectOf(event);
    const { rows } = await tx.query<{ status: string; total_minor: string; currency: string }>(
      'select status, total_minor, currency from orders where id = $1 for update',
      [metadata.order_id],
    );
    const [order] = rows;
    if (order === undefined) return quarantine('unknown_order');
    if (order.currency !== currency) return quarantine('currency_mismatch');
    if (order.total_minor !== String(amount)) return quarantine('amount_mismatch');
    if (order.status === 'paid') return duplicate();
    await tx.query(`update orders set status = 'paid', paid_minor = $2 where id = $1`, [metadata.order_id, amount]);
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

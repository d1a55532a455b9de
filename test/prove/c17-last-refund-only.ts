import { applied, defineHandlers, duplicate } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** C17: only the last refund's ID is remembered, so an earlier one that is told again is taken for a new one. */
const handlers = defineHandlers({
  'refund.created': async (event, tx) => {
    const { id, amount, metadata } = objectOf(event);
    const { rows } = await tx.query<{ last_refund_id: string | null }>(
      'select last_refund_id from orders where id = $1 for update',
      [metadata.order_id],
    );
    if (rows[0]?.last_refund_id === id) return duplicate();
    await tx.query(
      `update orders
          set refunded_minor = refunded_minor + $2, last_refund_id = $3, status = 'partially_refunded'
        where id = $1`,
      [metadata.order_id, amount, id],
    );
    return applied();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: (db) => addOrder(db, 'paid'),
  events: [
    shopEvent('refund.created', { id: 're_1', amount: 3000 }, 'r1'),
    shopEvent('refund.created', { id: 're_2', amount: 1000 }, 'r2'),
  ],
  state: readOrders,
});

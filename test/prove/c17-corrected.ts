import { applied, defineHandlers, duplicate } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** A refund is known by its own ID, for ever. */
const handlers = defineHandlers({
  'refund.created': async (event, tx) => {
    const { id, amount, metadata } = objectOf(event);
    await tx.query('select from orders where id = $1 for update', [metadata.order_id]);
    const { rowCount } = await tx.query(
      'insert into refunds (id, order_id, amount_minor) values ($1, $2, $3) on conflict do nothing',
      [id, metadata.order_id, amount],
    );
    if (rowCount === 0) return duplicate();
    await tx.query(
      `update orders
          set refunded_minor = refunded_minor + $2, status = 'partially_refunded'
        where id = $1`,
      [metadata.order_id, amount],
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
  invariants: {
    'never more is refunded than was paid': async (db) => {
      const { rows } = await db.query('select from orders where refunded_minor > total_minor');
      return rows.length === 0;
    },
  },
});

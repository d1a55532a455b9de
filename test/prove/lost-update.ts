import { applied, defineHandlers, duplicate } from '../../src/index.js';
import { defineProof, type TestDatabase } from '../../src/testing/index.js';
import { addCustomer, createShop, objectOf, shopEvent } from './shop.js';

/** Points are read, added to in code and written back without a lock: of two at once, one is lost. */
const handlers = defineHandlers({
  'charge.succeeded': async (event, tx) => {
    const { id } = objectOf(event);
    const { rowCount } = await tx.query(
      `insert into orders (id, customer_id, total_minor) values ($1, 'cus_1', 100) on conflict do nothing`,
      [id],
    );
    if (rowCount === 0) return duplicate();
    const { rows } = await tx.query<{ points: number }>(`select points from customers where id = 'cus_1'`);
    await tx.query(`update customers set points = $1 where id = 'cus_1'`, [(rows[0]?.points ?? 0) + 10]);
    return applied();
  },
});

async function readPoints(db: TestDatabase): Promise<unknown> {
  return (await db.query<{ points: number }>('select points from customers')).rows;
}

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: addCustomer,
  events: [
    shopEvent('charge.succeeded', { id: 'ch_1' }, 'c1'),
    shopEvent('charge.succeeded', { id: 'ch_2' }, 'c2'),
    shopEvent('charge.succeeded', { id: 'ch_3' }, 'c3'),
  ],
  state: readPoints,
});

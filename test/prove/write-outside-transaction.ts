import pg from 'pg';
import { applied, defineHandlers, duplicate } from '../../src/index.js';
import { defineProof, type TestDatabase } from '../../src/testing/index.js';
import { addCustomer, createShop, objectOf, shopEvent } from './shop.js';

let pool: pg.Pool | undefined;

/** Points are added through the application's own pool: a rollback does not take them back. */
const handlers = defineHandlers({
  'charge.succeeded': async (event, tx) => {
    const { rowCount } = await tx.query(
      `insert into orders (id, customer_id, total_minor) values ($1, 'cus_1', 100) on conflict do nothing`,
      [objectOf(event).id],
    );
    if (rowCount === 0) return duplicate();
    await pool?.query('insert into points_given (points) values (10)');
    return applied();
  },
});

export const proof = defineProof({
  handlers,
  setup: async (db: TestDatabase) => {
    await createShop(db);
    await db.query('create table points_given (points integer not null)');
    await pool?.end();
    pool = new pg.Pool({ connectionString: db.url, max: 1 });
    // The scratch database is dropped under it.
    pool.on('error', () => undefined);
  },
  given: addCustomer,
  events: [shopEvent('charge.succeeded', { id: 'ch_1' })],
  state: async (db) =>
    (await db.query<Record<string, unknown>>('select sum(points)::int as points from points_given')).rows,
  outsideCalls: 'allow',
});

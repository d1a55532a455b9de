import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  applied,
  asPool,
  defineHandlers,
  wait,
  type Handler,
  type HandlerOutcome,
  type Transaction,
} from '../../src/index.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { eventOf, handle, paymentPayload } from '../support/handler-events.js';
import { token } from '../support/payment-event.js';

const shelves = pgTable('shelves', { id: text('id').primaryKey(), books: integer('books').notNull() });

interface Tables {
  shelves: { id: string; books: number };
}

let database: TestDatabase;

beforeAll(async () => {
  database = await openDatabase();
  await database.pool.query('create table shelves (id text primary key, books integer not null)');
});

afterAll(async () => {
  await database.drop();
});

function run(handler: Handler): Promise<{ readonly outcome: HandlerOutcome }> {
  return handle(
    database.pool,
    defineHandlers({ 'payment.succeeded': handler }),
    eventOf({ ...paymentPayload(), type: 'payment.succeeded' }),
  );
}

const books = async (id: string): Promise<number | undefined> =>
  (await database.rows<{ books: number }>('select books from shelves where id = $1', [id]))[0]?.books;

/** One handler for each way to write: a row, another row read back, a change of the first. */
const ways: [string, (id: string, outcome: HandlerOutcome) => Handler][] = [
  [
    'plain pg',
    (id, outcome) => async (_event, tx) => {
      await tx.query('insert into shelves (id, books) values ($1, 1)', [id]);
      const { rows } = await tx.query<{ books: number }>('select books from shelves where id = $1', [id]);
      await tx.query('update shelves set books = $2 where id = $1', [id, rows[0]!.books + 1]);
      return outcome;
    },
  ],
  [
    'Drizzle',
    (id, outcome) => async (_event, tx) => {
      const db = drizzle(tx);
      await db.insert(shelves).values({ id, books: 1 });
      const [row] = await db.select().from(shelves).where(eq(shelves.id, id));
      await db
        .update(shelves)
        .set({ books: sql`${row!.books} + 1` })
        .where(eq(shelves.id, id));
      return outcome;
    },
  ],
  [
    'Kysely',
    (id, outcome) => async (_event, tx) => {
      const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: asPool(tx) }) });
      await db.insertInto('shelves').values({ id, books: 1 }).execute();
      const row = await db.selectFrom('shelves').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      await db
        .updateTable('shelves')
        .set({ books: row.books + 1 })
        .where('id', '=', id)
        .execute();
      await db.destroy();
      return outcome;
    },
  ],
];

test.each(ways)(
  '%s writes in the transaction of the event: what stands stays, what does not is gone',
  async (_name, write) => {
    const [kept, dropped] = [token(), token()];
    expect((await run(write(kept, applied()))).outcome.kind).toBe('applied');
    expect(await books(kept)).toBe(2);
    expect((await run(write(dropped, wait('not_yet')))).outcome.kind).toBe('wait');
    expect(await books(dropped)).toBeUndefined();
    // The connection went back to its pool whole.
    expect(await books(kept)).toBe(2);
  },
);

test("Drizzle's transaction() in it would commit ours: a defect, and nothing stays", async () => {
  const id = token();
  const nested: Handler = async (_event, tx) => {
    await drizzle(tx).transaction((inner) => inner.insert(shelves).values({ id, books: 1 }));
    return applied();
  };
  await expect(run(nested)).rejects.toMatchObject({ code: 'handler_nonsense' });
  expect(await books(id)).toBeUndefined();
});

test.each([
  'commit',
  ' BEGIN',
  'start  transaction',
  'rollback',
  'ROLLBACK WORK',
  'end',
  'abort',
  '/* c */ commit',
  '-- c\ncommit',
])('the statement "%s" is refused before it is sent', async (statement) => {
  const id = token();
  const ending: Handler = async (_event, tx) => {
    await tx.query('insert into shelves (id, books) values ($1, 1)', [id]);
    await tx.query({ text: statement });
    return applied();
  };
  await expect(run(ending)).rejects.toMatchObject({ code: 'handler_nonsense' });
  expect(await books(id)).toBeUndefined();
});

const several: [string, (tx: Transaction, text: string) => Promise<unknown>][] = [
  ['text', (tx, text) => tx.query(text)],
  ['query configuration', (tx, text) => tx.query({ text })],
  [
    'query object',
    (tx, text) =>
      new Promise((resolve, reject) => {
        tx.query(new pg.Query(text)).on('end', resolve).on('error', reject);
      }),
  ],
  ['statement of Drizzle', (tx, text) => drizzle(tx).execute(sql.raw(text))],
];
test.each(several)('a %s with a commit behind another statement is refused by the server', async (_name, send) => {
  const id = token();
  const ending: Handler = async (_event, tx) => {
    await send(tx, `insert into shelves (id, books) values ('${id}', 1); commit; select 1`);
    return applied();
  };
  await expect(run(ending)).rejects.toMatchObject({
    code: 'handler_threw',
    message: expect.stringContaining('multiple commands') as string,
  });
  expect(await books(id)).toBeUndefined();
});

test('every form of a query that pg takes does as it does elsewhere', async () => {
  const id = token();
  /** As template libraries make them: the text is a getter of the class. */
  class Template {
    readonly values = [id];
    get text(): string {
      return `select books from shelves where id = $${this.values.length}`;
    }
  }
  const found: unknown[] = [];
  const forms: Handler = async (_event, tx) => {
    await tx.query(`insert into shelves (id, books) values ('${id}', 7);`);
    found.push((await tx.query(new Template())).rows);
    found.push((await tx.query({ text: 'select books from shelves where id = $1', rowMode: 'array' }, [id])).rows);
    const named = { name: 'shelf', text: 'select books from shelves where id = $1', values: [id] };
    found.push((await tx.query(named)).rows, (await tx.query(named)).rows);
    found.push((await tx.query('')).rows, (await tx.query('-- nothing')).rows);
    await tx.query("set local lock_timeout = '1s'");
    await tx.query('do $$ begin perform 1; end $$');
    await tx.query('lock table shelves in share mode');
    found.push((await tx.query('show lock_timeout')).rows);
    found.push((await tx.query("select true as t, 1.5::numeric as n, '{1}'::int[] as a, now() as at")).rows[0]);
    return applied();
  };
  expect((await run(forms)).outcome.kind).toBe('applied');
  const row = [{ books: 7 }];
  expect(found).toEqual([
    ...[row, [[7]], row, row, [], [], [{ lock_timeout: '1s' }]],
    { t: true, n: '1.5', a: [1], at: expect.any(Date) as Date },
  ]);
});

test("savepoints are a handler's own", async () => {
  const id = token();
  const careful: Handler = async (_event, tx) => {
    await tx.query('savepoint mine');
    await tx.query('select 1/0').catch(() => undefined);
    await tx.query('rollback to savepoint mine');
    await tx.query('insert into shelves (id, books) values ($1, 3)', [id]);
    await tx.query('release savepoint mine');
    return applied();
  };
  expect((await run(careful)).outcome.kind).toBe('applied');
  expect(await books(id)).toBe(3);
});

test("a deadlock that a query builder wraps in an error of its own is still not the handler's fault", async () => {
  const deadlocked: Handler = async (_event, tx) => {
    await drizzle(tx).execute(sql`do $$ begin raise exception 'victim' using errcode = '40P01'; end $$`);
    return applied();
  };
  await expect(run(deadlocked)).rejects.toMatchObject({ code: '40P01' });
});

test.each(['end', 'connect'] as const)('%s() of the connection is refused', async (name) => {
  const ending: Handler = async (_event, tx) => {
    await (tx as unknown as Record<string, () => Promise<void>>)[name]!();
    return applied();
  };
  await expect(run(ending)).rejects.toMatchObject({ code: 'handler_nonsense' });
});

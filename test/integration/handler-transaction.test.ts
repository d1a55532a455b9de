import { setTimeout as sleep } from 'node:timers/promises';
import { drizzle } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applied, asPool, defineHandlers, duplicate, type Handler, type Transaction } from '../../src/index.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { createGate } from '../support/gate.js';
import { eventOf, handle, paymentPayload, type HandlerRun } from '../support/handler-events.js';
import { token } from '../support/payment-event.js';

const marks = pgTable('marks', { id: text('id').primaryKey(), run: text('run').notNull() });

let database: TestDatabase;
/** One session, so that a statement left behind would meet the next event on it. */
let pool: pg.Pool;

beforeAll(async () => {
  database = await openDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 1 });
  await pool.query('create table marks (id text primary key, run text not null)');
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

function run(...handlers: readonly Handler[]): Promise<HandlerRun> {
  const event = eventOf({ ...paymentPayload(), type: 'payment.succeeded' });
  return handle(pool, defineHandlers({ 'payment.succeeded': handlers }), event);
}

const marked = async (of: string): Promise<number> =>
  (await database.rows('select 1 from marks where run = $1', [of])).length;

type Write = (tx: Transaction, run: string) => Promise<unknown>;

const writers: [string, () => Write][] = [
  ['pg', () => (tx, of) => tx.query('insert into marks (id, run) values ($1, $2)', [token(), of])],
  [
    'pg with a callback',
    () => (tx, of) =>
      new Promise((resolve, reject) => {
        tx.query('insert into marks (id, run) values ($1, $2)', [token(), of], (error: Error | null, result) => {
          if (error === null) resolve(result);
          else reject(error);
        });
      }),
  ],
  [
    'a query object of pg',
    () => (tx, of) =>
      new Promise((resolve, reject) => {
        const query = new pg.Query('insert into marks (id, run) values ($1, $2)', [token(), of]);
        query.on('end', resolve).on('error', reject);
        tx.query(query);
      }),
  ],
  ['Drizzle', () => async (tx, of) => drizzle(tx).insert(marks).values({ id: token(), run: of })],
  [
    'Kysely',
    () => (tx, of) =>
      new Kysely<{ marks: { id: string; run: string } }>({ dialect: new PostgresDialect({ pool: asPool(tx) }) })
        .insertInto('marks')
        .values({ id: token(), run: of })
        .execute(),
  ],
];

describe.each(writers)('statements by %s that a handler leaves behind', (_name, writer) => {
  const write = writer();

  test('when it returns: a defect, and nothing of them stays', async () => {
    const of = token();
    const left: Promise<unknown>[] = [];
    const forgetful: Handler = (_event, tx) => {
      [1, 2, 3].forEach((_row) => {
        const both = async (): Promise<void> => {
          await write(tx, of);
          await write(tx, of);
        };
        left.push(both());
      });
      return applied();
    };
    await expect(run(forgetful)).rejects.toMatchObject({
      code: 'handler_nonsense',
      message: expect.stringContaining('await each statement of tx before you return') as string,
    });
    // The session serves the next event, and what was left behind has ended before it.
    await run(async (_event, tx) => (await write(tx, `${of} next`), applied()));
    await Promise.all(left);
    expect([await marked(of), await marked(`${of} next`)]).toEqual([0, 1]);
  });

  test('when it throws: nothing of them stays', async () => {
    const of = token();
    let left: Promise<unknown> | undefined;
    const failing: Handler = async (_event, tx) => {
      const several = async (): Promise<void> => {
        for (let count = 0; count < 4; count += 1) await write(tx, of);
      };
      const throwing = async (): Promise<never> => {
        await write(tx, of);
        throw new Error('no such order');
      };
      left = several();
      await Promise.all([throwing(), left]);
      return applied();
    };
    await expect(run(failing)).rejects.toMatchObject({ code: 'handler_threw' });
    await run(async (_event, tx) => (await write(tx, `${of} next`), applied()));
    await left;
    expect([await marked(of), await marked(`${of} next`)]).toEqual([0, 1]);
  });

  test('when another handler follows: it does not run', async () => {
    const of = token();
    let left: Promise<unknown> | undefined;
    let isSecondCalled = false;
    const forgetful: Handler = (_event, tx) => {
      left = write(tx, of);
      return applied();
    };
    const second: Handler = () => {
      isSecondCalled = true;
      return applied();
    };
    await expect(run(forgetful, second)).rejects.toMatchObject({ code: 'handler_nonsense' });
    await left;
    expect([await marked(of), isSecondCalled]).toEqual([0, false]);
  });

  test('until the transaction is over are not sent: they are told so', async () => {
    const of = token();
    let late: Promise<unknown> | undefined;
    const gate = createGate();
    const outcome = await run((_event, tx) => {
      late = gate.pass().then(() => write(tx, of));
      late.catch(() => undefined);
      return applied();
    });
    expect(outcome.outcome.kind).toBe('applied');
    gate.open();
    const told = await late?.catch((error: unknown) => error);
    expect(String(told instanceof Error ? (told.cause ?? told) : told)).toContain('used tx after it had ended');
    expect(await marked(of)).toBe(0);
  });
});

test('what one handler left behind cannot write while the next one runs', async () => {
  const of = token();
  let late: Promise<unknown> | undefined;
  const gate = createGate();
  const first: Handler = (_event, tx) => {
    late = gate.pass().then(() => tx.query('insert into marks (id, run) values ($1, $2)', [token(), of]));
    late.catch(() => undefined);
    return applied();
  };
  const second: Handler = async (_event, tx) => {
    gate.open();
    await tx.query('select 1');
    return duplicate();
  };
  expect((await run(first, second)).outcome.kind).toBe('applied');
  await expect(late).rejects.toThrow('used tx after it had ended');
  expect(await marked(of)).toBe(0);
});

test('a statement that fails unheard is the defect that it is', async () => {
  await expect(
    run((_event, tx) => {
      void tx.query('select broken');
      return applied();
    }),
  ).rejects.toMatchObject({ code: 'handler_nonsense' });
});

test('statements at once that are all waited for are sound', async () => {
  const of = token();
  const parallel: Handler = async (_event, tx) => {
    const one = (): Promise<unknown> =>
      tx.query('insert into marks (id, run) values ($1, $2)', [token(), of]).then(() => sleep(1));
    await Promise.all([one(), one(), one()]);
    return applied();
  };
  expect((await run(parallel)).outcome.kind).toBe('applied');
  expect(await marked(of)).toBe(3);
});

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import {
  applied,
  defineHandlers,
  defineOperation,
  duplicate,
  fetchFirst,
  ignored,
  operationKey,
  quarantine,
  superseded,
  wait,
} from '../../src/index.js';
import {
  duplicates,
  openWebhookBench,
  permutations,
  stripeEvent,
  type StripeEnvelope,
  type TestDatabase,
  type WebhookBench,
} from '../../src/testing/index.js';
import '../../src/testing/vitest.js';
import { takeAnything } from '../prove/take-anything.js';
import { addOrder, createShop, objectOf, readOrders } from '../prove/shop.js';

const sent: string[] = [];

const receipt = defineOperation({
  kind: 'receipt',
  params: takeAnything((value) => value as { to: string }),
  perform: ({ idempotencyKey }) => {
    sent.push(idempotencyKey);
    // The first attempt's answer is lost.
    return Promise.resolve(sent.length === 1 ? { kind: 'unknown', code: 'no_answer' } : { kind: 'confirmed' });
  },
  classify: () => ({ kind: 'unknown', code: 'threw' }),
  keyTtlMs: 86_400_000,
  onUnknown: 'resend',
});

const handlers = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { amount, metadata } = objectOf(event);
    const { rows } = await tx.query<{ status: string; total_minor: string }>(
      'select status, total_minor from orders where id = $1 for update',
      [metadata.order_id],
    );
    const [order] = rows;
    if (order === undefined) return wait('unknown_order');
    if (order.total_minor !== String(amount)) return quarantine('amount_mismatch');
    if (order.status === 'paid') return duplicate();
    await tx.query(`update orders set status = 'paid', paid_minor = $2 where id = $1`, [metadata.order_id, amount]);
    const key = operationKey('receipt', event.tenant, metadata.order_id);
    return applied({ operations: [{ kind: 'receipt', key, params: { to: 'ada@example.com', amount } }] });
  },
  'payment_intent.created': async (event, tx) => {
    const { rows } = await tx.query<{ status: string }>('select status from orders where id = $1', [
      objectOf(event).metadata.order_id,
    ]);
    return rows[0]?.status === 'paid' ? superseded() : ignored('nothing_to_do');
  },
  'charge.updated': () => {
    throw new Error('not written yet');
  },
  'charge.captured': (event) => {
    const fetched = event.fetched({ type: 'charge', id: 'ch_1' });
    if (fetched === undefined) return fetchFirst({ type: 'charge', id: 'ch_1' });
    return fetched.kind === 'found' ? applied() : ignored('gone');
  },
});

let bench: WebhookBench;

beforeAll(async () => {
  bench = await openWebhookBench({
    databaseUrl: inject('postgresUrl'),
    handlers,
    operations: [receipt],
    setup: createShop,
    fetch: ({ id }) => ({ kind: 'found', object: { id } }),
  });
});
afterAll(() => bench.close());
beforeEach(async () => {
  await bench.reset();
  sent.length = 0;
});

function payment(amount = 5000): StripeEnvelope {
  return stripeEvent('payment_intent.succeeded', { id: 'pi_1', amount, metadata: { order_id: 'o_1' } });
}
const created = stripeEvent('payment_intent.created', { id: 'pi_1', metadata: { order_id: 'o_1' } });

describe('a bench', () => {
  it('applies an event in the transaction that plans its operations', async () => {
    await addOrder(bench.db);
    const result = await bench.deliver(payment());
    expect(result).toBeApplied();
    expect(result).toPlanOperation('receipt');
    expect(result).toPlanOperation('receipt', { to: 'ada@example.com' });
    expect(result).not.toPlanOperation('receipt', { to: 'bob@example.com' });
    expect(result).toMatchObject({ delivery: 'stored', attempts: 1, defect: null });
    expect(await readOrders(bench.db)).toMatchObject([{ status: 'paid', paid_minor: '5000' }]);
  });

  it('delivers again under the same ID, and as a copy under another', async () => {
    await addOrder(bench.db);
    const event = payment();
    expect(await bench.deliver(event)).toBeApplied();
    const again = await bench.deliverAgain(event);
    expect(again).toBeDuplicate();
    expect(again).toMatchObject({ delivery: 'duplicate', outcome: 'applied', attempts: 1 });
    const copy = await bench.deliverCopy(event);
    expect(copy).toBeDuplicate();
    expect(copy).toMatchObject({ delivery: 'stored', outcome: 'duplicate' });
    expect(await bench.operations()).toHaveLength(1);
  });

  it('runs what waits again, and quarantines it when its time is over', async () => {
    const early = await bench.deliver(payment());
    expect(early).toWait('unknown_order');
    expect(early).not.toWait('something_else');
    expect(await bench.runWaiting()).toMatchObject([{ status: 'waiting', attempts: 2 }]);
    await addOrder(bench.db);
    const [late] = await bench.runWaiting();
    expect(late).toBeApplied();

    await bench.reset();
    await bench.deliver(payment());
    const [given] = await bench.runToHorizon();
    expect(given).toBeQuarantined('unknown_order');
  });

  it('performs operations to their end, lost answers and the time between attempts included', async () => {
    await addOrder(bench.db);
    await bench.deliver(payment());
    expect(await bench.operations()).toMatchObject([{ status: 'planned' }]);
    expect(await bench.performOperations()).toMatchObject([{ kind: 'receipt', status: 'confirmed', attempts: 2 }]);
    expect(new Set(sent).size).toBe(1);
  });

  it('tells what a handler threw, and quarantines as a worker does', async () => {
    const result = await bench.deliver(stripeEvent('charge.updated', { id: 'ch_1' }));
    expect(result).toBeQuarantined('handler_error');
    expect(result.attempts).toBe(5);
    expect(String(result.defect)).toContain('not written yet');
  });

  it('fetches what a handler asks for first', async () => {
    expect(await bench.deliver(stripeEvent('charge.captured', { id: 'ch_1' }))).toBeApplied();
  });

  it('takes events of any shape, with what their source would have read', async () => {
    const result = await bench.deliver({ type: 'unheard.of', id: 'n_1', scope: 'hmac:other', payload: { n: 1 } });
    expect(result).toBeIgnored();
    expect(result).toMatchObject({ eventId: 'n_1', scope: 'hmac:other' });
  });

  it.each([...permutations([created, payment()])])('ends alike: $name', async (sequence) => {
    await addOrder(bench.db);
    await bench.deliverAll(sequence);
    expect(await readOrders(bench.db)).toMatchObject([{ status: 'paid' }]);
  });

  it.each([...duplicates([payment(), created])])('pays once: $name', async (sequence) => {
    await addOrder(bench.db);
    const results = await bench.deliverAll(sequence);
    expect(results.filter(({ outcome }) => outcome === 'applied')).toHaveLength(1);
    expect(results.map(({ status }) => status)).not.toContain('quarantined');
  });

  it('says why a matcher does not match, with the plan or the error', async () => {
    await addOrder(bench.db);
    const result = await bench.deliver(payment(100));
    expect(() => {
      expect(result).toBeApplied();
    }).toThrow('expected the event to be applied, and it is quarantined (amount_mismatch) (payment_intent.succeeded');
    const forgotten = bench.deliver(payment());
    expect(() => {
      expect(forgotten).toBeApplied();
    }).toThrow('is an await missing?');
    expect(() => {
      expect(forgotten).not.toBeApplied();
    }).toThrow('expect(await bench.deliver(event)), and got a promise');
    expect(() => {
      expect([result]).not.toWait();
    }).toThrow(TypeError);
    await forgotten;
  });
});

it('leaves no database behind when it cannot be opened', async () => {
  let made = '';
  const opening = openWebhookBench({
    databaseUrl: inject('postgresUrl'),
    handlers,
    operations: [receipt, receipt],
    setup: ({ url }) => {
      made = new URL(url).pathname.slice(1);
    },
  });
  await expect(opening).rejects.toThrow('receipt');
  const { rows } = await bench.db.query('select from pg_database where datname = $1', [made]);
  expect(made).toMatch(/^oncehook_scratch_/);
  expect(rows).toEqual([]);
});

/** A role that may make databases and is no superuser, as on a managed server. */
async function withPlainRole(body: (url: string) => Promise<void>): Promise<void> {
  const name = `bench_${randomBytes(4).toString('hex')}`;
  const admin = new pg.Client(inject('postgresUrl'));
  await admin.connect();
  try {
    await admin.query(`create role ${name} login createdb password 'plain'`);
    const url = new URL(inject('postgresUrl'));
    url.username = name;
    url.password = 'plain';
    await body(url.href);
  } finally {
    await admin.query(`drop role ${name}`);
    await admin.end();
  }
}

async function resetsTo(databaseUrl: string): Promise<void> {
  const own = await openWebhookBench({
    databaseUrl,
    handlers,
    setup: async (db) => {
      await db.query(`
        create table countries (
          code text primary key,
          vat integer not null,
          shown text generated always as (code || '!') stored
        );
        create table invoices (
          id bigint generated always as identity primary key,
          country text not null references countries
        );
        create table payments_made (id bigserial primary key, invoice bigint not null references invoices);
        insert into countries (code, vat) values ('de', 19), ('fr', 20);
        insert into invoices (country) values ('de');
      `);
    },
  });
  const content = async (db: TestDatabase): Promise<unknown> => ({
    countries: (await db.query('select * from countries order by code')).rows,
    invoices: (await db.query('select * from invoices')).rows,
    payments: (await db.query('select * from payments_made')).rows,
    inbox: (await db.query('select event_id from oncehook.webhook_inbox')).rows,
  });
  try {
    const before = await content(own.db);
    for (let times = 0; times < 2; times += 1) {
      await own.db.query(`update countries set vat = 7 where code = 'de'`);
      await own.db.query(`insert into invoices (country) values ('fr')`);
      const { rows } = await own.db.query('insert into payments_made (invoice) values (2) returning id, invoice');
      expect(rows).toEqual([{ id: '1', invoice: '2' }]);
      await own.deliver(payment());
      await own.reset();
      expect(await content(own.db)).toEqual(before);
    }
  } finally {
    await own.close();
  }
}

describe('a reset brings back what setup filled, changed or not, and sequences', () => {
  it('for a superuser', () => resetsTo(inject('postgresUrl')));

  it('for a role that may only make databases', () => withPlainRole(resetsTo));
});

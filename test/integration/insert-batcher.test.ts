import { createHash } from 'node:crypto';
import { Client, type Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPool } from '../../src/db/pool.js';
import { sqlstateOf } from '../../src/db/error-kinds.js';
import { INSERT_STATEMENT_TIMEOUT_MS, type InsertFailure } from '../../src/inbox/commit-batch.js';
import { createInsertBatcher, type InsertBatcher } from '../../src/inbox/insert-batcher.js';
import { insertEvents } from '../../src/inbox/insert-events.js';
import type { NewEvent } from '../../src/inbox/new-event.js';
import { createLogger } from '../../src/observability/logger.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { openDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
let pools: Pool[] = [];
let holders: Client[] = [];

beforeAll(async () => {
  database = await openDatabase();
});

beforeEach(async () => {
  await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads, oncehook.webhook_redeliveries');
});

afterEach(async () => {
  await Promise.all(holders.map((holder) => holder.end()));
  await Promise.all(pools.map((pool) => pool.end()));
  [holders, pools] = [[], []];
});

afterAll(async () => {
  await database.drop();
});

function openPool(): Pool {
  const pool = createPool({
    url: database.url,
    applicationName: 'oncehook batcher under test',
    max: 5,
    statementTimeoutMs: INSERT_STATEMENT_TIMEOUT_MS,
    log: createLogger('silent', 'test'),
  });
  pools.push(pool);
  return pool;
}

function openBatcher(maxInFlight = 4): {
  batcher: InsertBatcher;
  failures: InsertFailure[];
  batches: () => Promise<number>;
} {
  const failures: InsertFailure[] = [];
  const metrics = createMetrics();
  const batcher = createInsertBatcher({
    pool: openPool(),
    maxInFlight,
    onFailure: (failure) => failures.push(failure),
    metrics,
  });
  const batches = async (): Promise<number> => {
    const { values } = await metrics.insertBatchRows.get();
    return values.find(({ metricName }) => metricName?.endsWith('_count'))?.value ?? 0;
  };
  return { batcher, failures, batches };
}

/** A session of somebody else's, with a transaction open. */
async function openTransaction(...statements: readonly string[]): Promise<Client> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  holders.push(client);
  await client.query('begin');
  for (const statement of statements) await client.query(statement);
  return client;
}

function event(eventId: string, fields: Partial<NewEvent> = {}): NewEvent {
  const payloadText = `{"id":"${eventId}"}`;
  return {
    scope: 'stripe:acct_1:test',
    eventId,
    source: 'stripe',
    eventType: 'payment_intent.succeeded',
    status: 'pending',
    outcome: null,
    reason: null,
    requestId: 'request-1',
    identity: 'signed',
    providerCreatedAt: null,
    twinEventId: null,
    signedSha256: createHash('sha256').update(payloadText).digest(),
    secretPosition: 0,
    payloadText,
    ...fields,
  };
}

async function storedIds(table = 'webhook_inbox'): Promise<string[]> {
  const rows = await database.rows<{ event_id: string }>(`select event_id from oncehook.${table} order by 1`);
  return rows.map(({ event_id }) => event_id);
}

describe('a batch', () => {
  test('stores one row per key and records the others as redeliveries', async () => {
    const client = await openPool().connect();
    const events = [event('b'), event('a'), event('b', { requestId: 'request-2' }), event('a'), event('c')];
    expect(await insertEvents(client, events)).toEqual(['inserted', 'inserted', 'duplicate', 'duplicate', 'inserted']);
    expect(await insertEvents(client, [event('d'), event('c')])).toEqual(['inserted', 'duplicate']);
    client.release();
    expect(await storedIds()).toEqual(['a', 'b', 'c', 'd']);
    expect(await storedIds('webhook_payloads')).toEqual(['a', 'b', 'c', 'd']);
    expect(await storedIds('webhook_redeliveries')).toEqual(['a', 'b', 'c']);
  });

  test('keeps the same ID in another scope apart', async () => {
    const client = await openPool().connect();
    const events = [event('a'), event('a', { scope: 'stripe:acct_1:live' })];
    expect(await insertEvents(client, events)).toEqual(['inserted', 'inserted']);
    client.release();
  });

  test('is what requests form that arrive together, and what waits while others are in flight', async () => {
    const { batcher, batches } = openBatcher();
    const results = await Promise.all(Array.from({ length: 250 }, (_, index) => batcher.insert(event(`e${index}`))));
    expect(new Set(results)).toEqual(new Set(['inserted']));
    expect(await storedIds()).toHaveLength(250);
    expect(await batches()).toBe(3);
  });

  test('holds at most 4 MiB, and a single event of any size', async () => {
    const { batcher } = openBatcher();
    const large = (id: string): NewEvent => event(id, { payloadText: `"${'x'.repeat(3 * 1024 * 1024)}"` });
    const huge = event('huge', { payloadText: `"${'x'.repeat(9 * 1024 * 1024)}"` });
    const results = await Promise.all([large('a'), large('b'), huge, large('c')].map((one) => batcher.insert(one)));
    expect(results).toEqual(['inserted', 'inserted', 'inserted', 'inserted']);
  });

  test('is drained when nothing waits and nothing is in flight', async () => {
    const { batcher } = openBatcher(1);
    await batcher.drained();
    const settled: string[] = [];
    for (let index = 0; index < 150; index += 1)
      void batcher.insert(event(`e${index}`)).then((one) => settled.push(one));
    await batcher.drained();
    expect(settled).toHaveLength(150);
  });
});

describe('a duplicate', () => {
  test('is acknowledged while a transaction that has updated its row is open', async () => {
    const { batcher } = openBatcher();
    await batcher.insert(event('a'));
    await openTransaction(`update oncehook.webhook_inbox set attempts = 1 where event_id = 'a'`);
    // The quickest of five: what is judged is whether it waits, not what else the machine does.
    const times: number[] = [];
    for (let delivery = 0; delivery < 5; delivery += 1) {
      const startedAt = performance.now();
      expect(await batcher.insert(event('a'))).toBe('duplicate');
      times.push(performance.now() - startedAt);
    }
    expect(Math.min(...times)).toBeLessThan(100);
  });

  test('of a key in flight waits for that commit, and holds up no other key', async () => {
    const { batcher } = openBatcher(2);
    const holder = await openTransaction(
      `insert into oncehook.webhook_inbox (source_scope, event_id, source, event_type, request_id, signed_sha256, secret_position)
       values ('stripe:acct_1:test', 'stuck', 'stripe', 'x', 'r', sha256(''), 0)`,
    );
    const stuck = batcher.insert(event('stuck'));
    await new Promise(setImmediate);
    const followers = Array.from({ length: 10 }, () => batcher.insert(event('stuck')));
    const startedAt = performance.now();
    expect(await batcher.insert(event('free'))).toBe('inserted');
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await holder.query('rollback');
    expect(await stuck).toBe('inserted');
    expect(new Set(await Promise.all(followers))).toEqual(new Set(['duplicate']));
  });
});

test('overlapping batches in opposite order never deadlock', async () => {
  const [left, right] = [await openPool().connect(), await openPool().connect()];
  const rounds = 1_500;
  for (let round = 0; round < rounds; round += 1) {
    const keys = Array.from({ length: 12 }, (_, index) => event(`r${round}-${(index * 5) % 12}`));
    const [forwards, backwards] = await Promise.all([
      insertEvents(left, keys),
      insertEvents(right, [...keys].reverse()),
    ]);
    const inserted = [...forwards, ...backwards].filter((one) => one === 'inserted').length;
    expect(inserted).toBe(12);
  }
  left.release();
  right.release();
  const rows = await database.rows<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  expect(rows[0]?.deadlocks).toBe('0');
}, 120_000);

describe('trouble', () => {
  /** Makes inserts of some events fail as told, the first `times` times; sequences do not roll back. */
  async function failInserts(where: string, errcode: string, times: number, level = 'exception'): Promise<void> {
    await database.rows(`
      create sequence failures;
      create function fail() returns trigger language plpgsql as $$
      begin
        if ${where} and nextval('failures') <= ${times} then
          raise ${level} 'as the test wants it' using errcode = '${errcode}';
        end if;
        return new;
      end $$;
      create trigger fail before insert on oncehook.webhook_inbox for each row execute function fail()`);
  }

  afterEach(async () => {
    await database.rows(`
      drop trigger if exists fail on oncehook.webhook_inbox;
      drop function if exists fail;
      drop sequence if exists failures`);
  });

  const codes = (failures: readonly InsertFailure[]): (string | undefined)[] =>
    failures.map(({ error }) => sqlstateOf(error));

  test('with one row as data costs the others nothing', async () => {
    const { batcher, failures } = openBatcher();
    const bad = event('bad', { eventType: 'not printable\u0001' });
    const results = await Promise.all([event('a'), bad, event('b'), bad, event('a')].map((one) => batcher.insert(one)));
    expect(results).toEqual(['inserted', 'unavailable', 'inserted', 'unavailable', 'duplicate']);
    expect(codes(failures)).toEqual(['23514', '23514']);
    expect(await storedIds()).toEqual(['a', 'b']);
  });

  test('with another transaction is tried again', async () => {
    await failInserts(`new.event_id = 'b'`, '40P01', 1);
    const { batcher, failures } = openBatcher();
    const results = await Promise.all(['a', 'b', 'c'].map((id) => batcher.insert(event(id))));
    expect(results).toEqual(['inserted', 'inserted', 'inserted']);
    expect(codes(failures)).toEqual(['40P01']);
  });

  test('with another transaction that goes on costs only the rows that it concerns', async () => {
    await failInserts(`new.event_id = 'b'`, '40001', 1_000);
    const { batcher, failures } = openBatcher();
    const results = await Promise.all(['a', 'b', 'c'].map((id) => batcher.insert(event(id))));
    expect(results).toEqual(['inserted', 'unavailable', 'inserted']);
    expect(codes(failures)).toEqual(['40001', '40001', '40001']);
  });

  test('that the server reports after it has committed is not taken for a commit', async () => {
    // As a broken-off wait for a synchronous standby is reported.
    await failInserts('true', '01000', 1, 'warning');
    const { batcher } = openBatcher();
    expect(await batcher.insert(event('a'))).toBe('unavailable');
    expect(await batcher.insert(event('a'))).toBe('duplicate');
  });

  test('with a connection that is cut is answered, and the next insert has another one', async () => {
    const { batcher, failures } = openBatcher();
    const holder = await openTransaction('lock table oncehook.webhook_inbox in access exclusive mode');
    const cut = batcher.insert(event('a'));
    await expect.poll(async () => (await waiting()).length).toBe(1);
    await database.rows('select pg_terminate_backend($1)', await waiting());
    expect(await cut).toBe('unavailable');
    expect(codes(failures)).toEqual(['57P01']);
    await holder.query('rollback');
    expect(await batcher.insert(event('a'))).toBe('inserted');
  });

  test('with a lock ends within five seconds, commits nothing, and leaves no session in a transaction', async () => {
    const { batcher, failures } = openBatcher(1);
    const holder = await openTransaction('lock table oncehook.webhook_inbox in access exclusive mode');
    const startedAt = performance.now();
    const first = batcher.insert(event('a'));
    await expect.poll(async () => (await waiting()).length).toBe(1);
    const queued = batcher.insert(event('b'));
    expect(await queued).toBe('unavailable');
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(await first).toBe('unavailable');
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(codes(failures)).toEqual(['57014']);
    await holder.query('rollback');
    expect(await storedIds()).toEqual([]);
    const rows = await database.rows(
      `select from pg_stat_activity where application_name = 'oncehook batcher under test' and state <> 'idle'`,
    );
    expect(rows).toEqual([]);
    expect(await batcher.insert(event('a'))).toBe('inserted');
  });

  async function waiting(): Promise<number[]> {
    const rows = await database.rows<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.map(({ pid }) => pid);
  }
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HandlerDefectError } from '../../src/errors.js';
import { defineOperation, operationKey, type AnyOperationDefinition, type PlannedOperation } from '../../src/index.js';
import { claimDueOperations } from '../../src/operations/claim-due.js';
import { findOperationsOfEvent } from '../../src/operations/find-operations.js';
import { planOperations } from '../../src/operations/plan-operations.js';
import { createOperationRegistry } from '../../src/operations/registry.js';
import { anyParams } from '../support/any-params.js';
import { openOperationsBench, sha256Hex, type OperationsBench } from '../support/operations-bench.js';
import { until } from '../support/until.js';

const EVENT = { scope: 'stripe:acct_1:live', eventId: 'evt_1' };

const note: AnyOperationDefinition = defineOperation({
  kind: 'note',
  params: anyParams,
  enabled: (params) => params.off !== true,
  perform: () => Promise.resolve({ kind: 'confirmed' }),
  classify: () => ({ kind: 'unknown', code: 'never' }),
  onUnknown: 'hold',
});
const definitions = [note];

let bench: OperationsBench;

beforeAll(async () => {
  bench = await openOperationsBench();
});
afterAll(() => bench.close());
beforeEach(async () => {
  await bench.pool.query('truncate oncehook.operations, oncehook.webhook_inbox, oncehook.operation_pauses');
});

function noteOf(name: string, params: unknown = { text: name }): PlannedOperation {
  return { kind: 'note', key: operationKey('note', name), params };
}

async function due(key: string, seconds: number): Promise<void> {
  await bench.pool.query(
    `update oncehook.operations set next_attempt_at = now() - $2 * interval '1 second' where operation_key = $1`,
    [key, seconds],
  );
}

describe('planning', () => {
  test('writes each effect with its frozen parameters and derived key, left to the run for a minute', async () => {
    const result = await bench.plan([noteOf('b'), noteOf('a')], { definitions, event: EVENT });
    expect(result).toEqual({
      kind: 'planned',
      operations: [
        { key: 'note:a', status: 'planned' },
        { key: 'note:b', status: 'planned' },
      ],
    });
    const row = await bench.read('note:a');
    expect(row).toMatchObject({ attempts: 0, source_scope: EVENT.scope, message: null });
    expect(row.idempotency_key).toBe(`oncehook:${sha256Hex('note:a').slice(0, 40)}:1`);
    expect(row.due_in_ms).toBeGreaterThan(50_000);
    expect(row.due_in_ms).toBeLessThanOrEqual(60_000);
  });

  test('of an application leaves it to the sweeper at once', async () => {
    await bench.plan([noteOf('a')], { definitions });
    expect((await bench.read('note:a')).due_in_ms).toBeLessThanOrEqual(0);
  });

  test('the same effect twice is one row, whatever its state and however its JSON is written', async () => {
    await bench.plan([noteOf('a', { x: 1, y: [1, 2] })], { definitions, event: EVENT });
    await bench.pool.query(`update oncehook.operations set status = 'confirmed', settled_at = now()`);
    const again = await bench.plan([noteOf('a', { y: [1, 2], x: 1.0, z: undefined })], {
      definitions,
      event: { ...EVENT, eventId: 'evt_2' },
    });
    expect(again).toEqual({ kind: 'planned', operations: [{ key: 'note:a', status: 'confirmed' }] });
    expect(await findOperationsOfEvent(bench.pool, EVENT)).toHaveLength(1);
    expect(await findOperationsOfEvent(bench.pool, { ...EVENT, eventId: 'evt_2' })).toEqual([]);
  });

  test.each<[string, PlannedOperation, string]>([
    ['other parameters', noteOf('a', { text: 'other' }), 't1'],
    ['one parameter more', noteOf('a', { text: 'a', more: null }), 't1'],
    ['another tenant', noteOf('a'), 't2'],
    ['another kind', { ...noteOf('a'), kind: 'memo' }, 't1'],
  ])('the same key with %s is a conflict', async (_what, operation, tenant) => {
    await bench.plan([noteOf('a')], { definitions });
    const memo = defineOperation({ ...note, kind: 'memo' });
    const result = await bench.plan([operation], { definitions: [note, memo], tenant });
    expect(result).toEqual({ kind: 'conflict', operationKey: 'note:a' });
  });

  test('one key twice in one plan is one row, and a conflict when its parameters differ', async () => {
    const same = await bench.plan([noteOf('a'), noteOf('a')], { definitions });
    expect(same).toEqual({ kind: 'planned', operations: [{ key: 'note:a', status: 'planned' }] });
    const other = await bench.plan([noteOf('b'), noteOf('b', { text: 'other' })], { definitions });
    expect(other).toEqual({ kind: 'conflict', operationKey: 'note:b' });
  });

  test('a kind or an effect that is off is not planned, even if the worker has no such kind', async () => {
    const nothing = { kind: 'planned', operations: [] };
    expect(await bench.plan([noteOf('a')], { definitions: [], mode: 'off' })).toEqual(nothing);
    expect(await bench.plan([noteOf('a', { off: true })], { definitions })).toEqual(nothing);
  });

  test('a kind that wants approval is proposed, which is the end of it for a run', async () => {
    await bench.plan([noteOf('a')], { definitions, event: EVENT, mode: 'propose' });
    await due('note:a', 1);
    expect(await findOperationsOfEvent(bench.pool, EVENT)).toEqual([{ key: 'note:a', status: 'proposed' }]);
    expect(await bench.read('note:a')).toMatchObject({ last_error: 'needs_approval' });
    expect(await claimDueOperations(bench.pool, 10)).toEqual([]);
  });

  test.each<[string, PlannedOperation]>([
    ['an unknown kind', { ...noteOf('a'), kind: 'nothing' }],
    ['a kind by an inherited name', { ...noteOf('a'), kind: 'constructor' }],
    ['a key not made by operationKey', { ...noteOf('a'), key: 'note a' }],
    ['an empty key', { ...noteOf('a'), key: '' }],
    ['a key over 2000 bytes', { ...noteOf('a'), key: 'a'.repeat(2_001) }],
    ['no parameters', noteOf('a', null)],
    ['parameters that are a list', noteOf('a', [])],
    ['parameters that are a function', noteOf('a', () => 1)],
    ['a big integer', noteOf('a', { n: 1n })],
    ['a NUL', noteOf('a', { text: 'a\0b' })],
    ['half a character', noteOf('a', { text: '\ud800' })],
    ['half a character in a name', noteOf('a', { '\udc00': 1 })],
  ])('%s is the fault of the handler', async (_what, operation) => {
    await expect(bench.plan([operation], { definitions })).rejects.toMatchObject({
      constructor: HandlerDefectError,
      code: 'handler_nonsense',
    });
    expect((await bench.pool.query('select from oncehook.operations')).rowCount).toBe(0);
  });

  test('parameters are checked as JSON gives them back, since that is what an attempt will read', async () => {
    const dated = defineOperation<unknown>({
      ...note,
      kind: 'dated',
      params: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value) =>
            (value as { at: unknown }).at instanceof Date ? { value } : { issues: [{ message: 'not a date' }] },
        },
      },
    });
    const operation = { kind: 'dated', key: 'dated:1', params: { at: new Date() } };
    await expect(bench.plan([operation], { definitions: [dated] })).rejects.toThrow(/not a date/);
  });

  test('a backslash before u0000 is text like any other', async () => {
    const text = String.raw`C:\u0000 and \\ud800`;
    await bench.plan([noteOf('a', { text })], { definitions });
    const { rows } = await bench.pool.query<{ text: string }>(
      `select params ->> 'text' as text from oncehook.operations`,
    );
    expect(rows).toEqual([{ text }]);
  });

  test('transactions that share keys in opposite order never wait in a circle', async () => {
    const names = Array.from({ length: 400 }, (_, index) => `n${index}`);
    for (let round = 0; round < 4; round += 1) {
      const forwards = names.map((name) => noteOf(`${name}-${round}`));
      const orders = Array.from({ length: 6 }, (_, index) => (index % 2 === 0 ? forwards : [...forwards].reverse()));
      const results = await Promise.all(orders.map(inOneTransaction));
      expect(results.every(({ kind }) => kind === 'planned')).toBe(true);
    }
    const { rows } = await bench.pool.query<{ deadlocks: string }>(
      `select deadlocks from pg_stat_database where datname = current_database()`,
    );
    expect(rows[0]?.deadlocks).toBe('0');
  });

  /** Without the retry of a deadlock's victim, so that one would show. */
  async function inOneTransaction(operations: readonly PlannedOperation[]) {
    const client = await bench.pool.connect();
    try {
      await client.query('begin');
      const registry = createOperationRegistry(definitions);
      const input = { tenant: 't1', event: null, operations, registry, modeOf: () => 'auto' as const };
      const result = await planOperations(client, input);
      await client.query('commit');
      return result;
    } finally {
      client.release();
    }
  }

  test('a plan that waited for another transaction sees what that one wrote', async () => {
    const client = await bench.pool.connect();
    const registry = createOperationRegistry(definitions);
    const input = { tenant: 't1', event: null, registry, modeOf: () => 'auto' as const };
    await client.query('begin');
    await planOperations(client, { ...input, operations: [noteOf('a', { text: 'first' })] });
    const second = bench.plan([noteOf('a', { text: 'second' })], { definitions });
    await waitUntilBlocked();
    await client.query('commit');
    client.release();
    expect(await second).toEqual({ kind: 'conflict', operationKey: 'note:a' });
  });

  async function waitUntilBlocked(): Promise<void> {
    const blocked = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await until('the second plan waits for a lock', async () => (await bench.pool.query(blocked)).rowCount === 1);
  }
});

describe('claiming what is due', () => {
  async function storeEvent(eventId: string): Promise<void> {
    await bench.pool.query(
      `insert into oncehook.webhook_inbox
         (source_scope, event_id, source, event_type, request_id, signed_sha256, secret_position)
       values ($1, $2, 'stripe', 'payment_intent.succeeded', 'r1', sha256('x'), 0)`,
      [EVENT.scope, eventId],
    );
  }

  test('gives the oldest first, with the event that carries them, and not again for a minute', async () => {
    await storeEvent('evt_1');
    await bench.plan([noteOf('a'), noteOf('b'), noteOf('c')], { definitions, event: EVENT });
    await bench.plan([noteOf('d')], { definitions, event: { ...EVENT, eventId: 'evt_gone' } });
    await bench.plan([noteOf('e')], { definitions });
    await due('note:a', 10);
    await due('note:b', 30);
    await due('note:d', 20);
    await due('note:e', 1);

    const first = await claimDueOperations(bench.pool, 3);
    const event = { ...EVENT, eventType: 'payment_intent.succeeded' };
    expect(first).toEqual([
      { operationKey: 'note:a', event },
      { operationKey: 'note:b', event },
      { operationKey: 'note:d', event: null },
    ]);
    expect(await claimDueOperations(bench.pool, 3)).toEqual([{ operationKey: 'note:e', event: null }]);
    expect(await claimDueOperations(bench.pool, 3)).toEqual([]);
    expect((await bench.read('note:a')).due_in_ms).toBeGreaterThan(50_000);
  });

  test('leaves alone what a run has nothing more to do for', async () => {
    const finished = ['proposed', 'confirmed', 'refused', 'parked'];
    for (const status of finished) {
      await bench.plan([noteOf(status)], { definitions });
      await bench.pool.query(
        `update oncehook.operations
            set status = $2,
                last_error = case when $2 in ('refused', 'parked') then 'some_code' end,
                settled_at = case when $2 in ('confirmed', 'refused') then now() end
          where operation_key = $1`,
        [`note:${status}`, status],
      );
    }
    expect(await claimDueOperations(bench.pool, 10)).toEqual([]);
  });

  test.each([
    ['its tenant', 't1'],
    ['every tenant', '*'],
  ])('leaves alone a kind that is paused for %s, and no other', async (_what, paused) => {
    const memo = defineOperation({ ...note, kind: 'memo' });
    await bench.plan([noteOf('a'), { kind: 'memo', key: 'memo:a', params: {} }], { definitions: [note, memo] });
    await bench.pool.query(
      `insert into oncehook.operation_pauses (kind, tenant_id, requested_by, reason) values ('note', $1, 'ada', 'test')`,
      [paused],
    );
    expect(await claimDueOperations(bench.pool, 10)).toEqual([{ operationKey: 'memo:a', event: null }]);
  });

  test('does not wait for a row that somebody works on', async () => {
    await bench.plan([noteOf('a'), noteOf('b')], { definitions });
    const client = await bench.pool.connect();
    await client.query('begin');
    await client.query(`select from oncehook.operations where operation_key = 'note:a' for update`);
    const claimed = await claimDueOperations(bench.pool, 10);
    await client.query('rollback');
    client.release();
    expect(claimed).toEqual([{ operationKey: 'note:b', event: null }]);
  });

  test('gives several sweepers at once different ones', async () => {
    await bench.plan(
      Array.from({ length: 60 }, (_, index) => noteOf(`n${index}`)),
      { definitions },
    );
    const claims = await Promise.all(Array.from({ length: 6 }, () => claimDueOperations(bench.pool, 15)));
    const keys = claims.flat().map(({ operationKey: key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    const rest = await claimDueOperations(bench.pool, 60);
    expect(keys.length + rest.length).toBe(60);
  });
});

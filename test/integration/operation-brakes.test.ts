import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPool } from '../../src/db/pool.js';
import { defineOperation, type AnyOperationDefinition } from '../../src/index.js';
import { createLogger } from '../../src/observability/logger.js';
import { claimDueOperations } from '../../src/operations/claim-due.js';
import type { Brake } from '../../src/operations/brake.js';
import { anyParams } from '../support/any-params.js';
import { inLanes } from '../support/in-lanes.js';
import { openOperationsBench, sha256Hex, type OperationsBench } from '../support/operations-bench.js';

interface Params {
  readonly scope?: string;
  readonly amountMinor?: number;
}

let bench: OperationsBench;

beforeAll(async () => {
  bench = await openOperationsBench();
});
afterAll(() => bench.close());
beforeEach(async () => {
  await bench.pool.query('truncate oncehook.operations, oncehook.operation_pauses');
});

/** A kind of an application's own that only counts what it sent. */
function gift(
  sent: string[],
  more: Partial<Parameters<typeof defineOperation<Params>>[0]> = {},
): AnyOperationDefinition {
  return defineOperation<Params>({
    kind: 'gift',
    params: anyParams,
    amountMinor: ({ amountMinor }) => amountMinor!,
    perform: ({ operationKey }) => {
      sent.push(operationKey);
      return Promise.resolve({ kind: 'confirmed' });
    },
    classify: () => ({ kind: 'unknown', code: 'thrown' }),
    onUnknown: 'hold',
    ...more,
  });
}

/** As an application's SQL function plans it: without knowing of modes. */
async function planBySql(key: string, params: Params = {}, tenant = 't1'): Promise<void> {
  await bench.pool.query(
    `insert into oncehook.operations (operation_key, kind, tenant_id, params, idempotency_key)
     values ($1, 'gift', $2, $3, $4)`,
    [key, tenant, JSON.stringify(params), `oncehook:${sha256Hex(key).slice(0, 40)}:1`],
  );
}

async function approve(key: string): Promise<void> {
  await bench.pool.query(
    `update oncehook.operations set status = 'planned', approved_at = now(), last_error = null where operation_key = $1`,
    [key],
  );
}

function performer(sent: string[], brake: Partial<Brake>, definition = gift(sent)) {
  const perform = bench.performer({ definitions: [definition], brake });
  return (key: string) => perform({ operationKey: key });
}

describe('a mode', () => {
  test('propose holds back what was planned without a mode, until an operator approves it', async () => {
    const sent: string[] = [];
    const perform = performer(sent, { mode: 'propose' });
    await planBySql('gift:1');
    expect(await perform('gift:1')).toEqual({ kind: 'settled', status: 'proposed' });
    expect(await perform('gift:1')).toEqual({ kind: 'settled', status: 'proposed' });
    expect(await bench.read('gift:1')).toMatchObject({ last_error: 'needs_approval', attempts: 0 });
    expect(sent).toEqual([]);
    await approve('gift:1');
    expect(await perform('gift:1')).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(sent).toEqual(['gift:1']);
  });

  test('off refuses what was planned before, also what was approved', async () => {
    const sent: string[] = [];
    await planBySql('gift:1');
    await approve('gift:1');
    expect(await performer(sent, { mode: 'off' })('gift:1')).toEqual({ kind: 'settled', status: 'refused' });
    expect(await bench.read('gift:1')).toMatchObject({ last_error: 'switched_off' });
    expect(sent).toEqual([]);
  });

  test('that is set after a send stops no repetition of it: what may have happened is brought to its end', async () => {
    const answers = [{ kind: 'unknown', code: 'lost' } as const, { kind: 'confirmed' } as const];
    const definition = gift([], { perform: () => Promise.resolve(answers.shift()!), onUnknown: 'resend' });
    await planBySql('gift:1');
    expect(await performer([], {}, definition)('gift:1')).toMatchObject({ status: 'unknown' });
    expect(await performer([], { mode: 'propose' }, definition)('gift:1')).toMatchObject({ status: 'confirmed' });
  });
});

describe('a cap per operation', () => {
  test.each([
    [100, 'confirmed', null],
    [101, 'proposed', 'amount_cap'],
    [-1, 'proposed', 'amount_unknown'],
    [undefined, 'proposed', 'amount_unknown'],
  ] as const)('of 100 and an amount of %s: %s', async (amountMinor, status, code) => {
    await planBySql('gift:1', amountMinor === undefined ? {} : { amountMinor });
    expect(await performer([], { maxAmountMinor: 100 })('gift:1')).toEqual({ kind: 'settled', status });
    expect(await bench.read('gift:1')).toMatchObject({ last_error: code });
  });

  test('does not hold back what an operator approved', async () => {
    await planBySql('gift:1', { amountMinor: 5_000 });
    const perform = performer([], { maxAmountMinor: 100 });
    expect(await perform('gift:1')).toMatchObject({ status: 'proposed' });
    await approve('gift:1');
    expect(await perform('gift:1')).toMatchObject({ status: 'confirmed' });
  });
});

describe('a cap per hour', () => {
  const keys = Array.from({ length: 24 }, (_, index) => `gift:${index}`);

  test('holds, whatever many workers do at once; what is above it waits for approval', async () => {
    const sent: string[] = [];
    const log = createLogger('silent', 'test');
    const other = createPool({
      url: bench.url,
      applicationName: 'another worker',
      max: 8,
      statementTimeoutMs: 5_000,
      log,
    });
    try {
      const definitions = [gift(sent)];
      const workers = [bench.pool, other].map((pool) => bench.performer({ definitions, brake: { perHour: 5 }, pool }));
      for (const [index, key] of keys.entries()) await planBySql(key, {}, `t${index % 3}`);
      // Each by both, so that they also race for one row.
      const jobs = [...keys, ...keys].map((operationKey, index) => ({ operationKey, perform: workers[index % 2]! }));
      await inLanes(12, jobs, ({ operationKey, perform }) => perform({ operationKey }));
      expect(sent).toHaveLength(5);
      const { rows } = await bench.pool.query<{ status: string; code: string | null; count: number }>(
        `select status, last_error as code, count(*)::integer as count
           from oncehook.operations
          group by status, last_error
          order by status`,
      );
      expect(rows).toEqual([
        { status: 'confirmed', code: null, count: 5 },
        { status: 'proposed', code: 'hourly_cap', count: 19 },
      ]);
    } finally {
      await other.end();
    }
  });

  test('holds when all workers are about to send their first at the same moment', async () => {
    const sent: string[] = [];
    const rivals = keys.slice(0, 7);
    for (const key of rivals) await planBySql(key);
    let arrived = 0;
    let open: () => void = () => undefined;
    const allAreThere = new Promise<void>((resolve) => (open = resolve));
    const perform = bench.performer({
      definitions: [gift(sent)],
      brake: { perHour: 1 },
      checkpoints: (name) => {
        if (name !== 'operation.before-intent') return Promise.resolve();
        arrived += 1;
        if (arrived === rivals.length) open();
        return allAreThere;
      },
    });
    await Promise.all(rivals.map((operationKey) => perform({ operationKey })));
    expect(sent).toHaveLength(1);
  });

  test('counts the last hour only, and neither approved ones nor repeated sends', async () => {
    const sent: string[] = [];
    const perform = performer(sent, { perHour: 1 });
    await planBySql('gift:old');
    expect(await perform('gift:old')).toMatchObject({ status: 'confirmed' });
    await bench.age('gift:old', 3_600_001);
    await planBySql('gift:1');
    expect(await perform('gift:1')).toMatchObject({ status: 'confirmed' });
    await planBySql('gift:2');
    expect(await perform('gift:2')).toMatchObject({ status: 'proposed' });
    await approve('gift:2');
    expect(await perform('gift:2')).toMatchObject({ status: 'confirmed' });

    await bench.age('gift:1', 3_600_001);
    const answers = [{ kind: 'notSent', code: 'busy' } as const, { kind: 'confirmed' } as const];
    const busy = performer([], { perHour: 1 }, gift([], { perform: () => Promise.resolve(answers.shift()!) }));
    await planBySql('gift:3');
    expect(await busy('gift:3')).toMatchObject({ status: 'planned' });
    expect(await busy('gift:3')).toMatchObject({ status: 'confirmed' });
  });
});

describe('a pause', () => {
  test.each([
    ['its kind', ['gift', '*', '*'], true],
    ['its tenant', ['gift', 't1', '*'], true],
    ['everything', ['*', '*', '*'], true],
    ['its scope', ['*', '*', 'stripe:a:test'], true],
    ['another kind', ['email', '*', '*'], false],
    ['another tenant', ['gift', 't2', '*'], false],
    ['another scope', ['gift', 't1', 'stripe:b:test'], false],
  ] as const)('of %s', async (_name, [kind, tenant, scope], holds) => {
    const sent: string[] = [];
    await planBySql('gift:1', { scope: 'stripe:a:test' });
    await bench.pool.query(
      `insert into oncehook.operation_pauses (kind, tenant_id, scope, requested_by, reason) values ($1, $2, $3, 'x', 'y')`,
      [kind, tenant, scope],
    );
    expect(await claimDueOperations(bench.pool, 10)).toHaveLength(holds ? 0 : 1);
    expect(await performer(sent, {})('gift:1')).toMatchObject({ status: holds ? 'planned' : 'confirmed' });
    expect(sent).toHaveLength(holds ? 0 : 1);
  });

  test('that comes between look and send stops the send', async () => {
    const sent: string[] = [];
    await planBySql('gift:1');
    const perform = bench.performer({
      definitions: [gift(sent)],
      brake: { perHour: 1 },
      checkpoints: async (name) => {
        if (name !== 'operation.before-intent') return;
        await bench.pool.query(
          `insert into oncehook.operation_pauses (kind, requested_by, reason) values ('gift', 'x', 'y') on conflict do nothing`,
        );
      },
    });
    expect(await perform({ operationKey: 'gift:1' })).toMatchObject({ kind: 'again', status: 'planned' });
    expect(sent).toEqual([]);
  });
});

import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { toActivityFailure } from '../../activities/failures.js';
import { schemaState } from '../../src/db/migrate.js';
import { createPool } from '../../src/db/pool.js';
import { printMigrations } from '../../src/db/print-migrations.js';
import { describeSchema } from '../../src/db/schema-report.js';
import { applied, defineHandlers, defineOperation, latestState, operationKey } from '../../src/index.js';
import { createLogger } from '../../src/observability/logger.js';
import { untilDatabaseReady } from '../../src/service/database-gate.js';
import { createProcessing } from '../../src/testing/processing.js';
import { anyParams } from '../support/any-params.js';
import { token } from '../support/payment-event.js';

const role = `serving_${token()}`;

/** What docs/upgrading.md tells a DBA to grant, for this role. */
async function documentedGrants(): Promise<string> {
  const page = await readFile(new URL('../../docs/upgrading.md', import.meta.url), 'utf8');
  const [, block] = /```sql\n(grant usage on schema oncehook[^`]*)```/.exec(page) ?? [];
  if (block === undefined) throw new Error('docs/upgrading.md has no block of grants');
  return block.replaceAll('oncehook_serving', role);
}

/** An effect of one's own that any worker can make. */
const note = defineOperation({
  kind: 'note',
  params: anyParams,
  perform: () => Promise.resolve({ kind: 'confirmed' }),
  classify: () => ({ kind: 'unknown', code: 'threw' }),
  onUnknown: 'hold',
});

const keeps = latestState<{ readonly id: string }>({
  name: 'plans',
  object: () => ({ type: 'plan', id: 'plan_1' }),
  fetch: () => Promise.resolve({ kind: 'found', object: { id: 'plan_1' } }),
  apply: ({ id }, event) =>
    applied({ operations: [{ kind: 'note', key: operationKey('note', id, event.eventId), params: {} }] }),
});

/** The DBA, who applies the printed SQL, and a process whose role was only granted what is written. */
let dba: pg.Client;
let serving: pg.Pool;

async function asAdmin(sql: string): Promise<void> {
  const admin = new pg.Client(inject('postgresUrl'));
  await admin.connect();
  await admin.query(sql).finally(() => admin.end());
}

beforeAll(async () => {
  const name = `served_${token()}`;
  await asAdmin(`create database ${name}`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  dba = new pg.Client(url.href);
  await dba.connect();
  await dba.query(await printMigrations(null));
  await dba.query(`create role ${role}`);
  url.searchParams.set('options', `-c role=${role}`);
  const log = createLogger('silent', 'test');
  serving = createPool({ url: url.href, applicationName: 'serving', max: 4, statementTimeoutMs: 5_000, log });
});
beforeEach(async () => {
  await dba.query(`drop owned by ${role}`);
  await dba.query(await documentedGrants());
});
afterAll(async () => {
  await serving.end();
  await dba.query(`drop owned by ${role}; drop role ${role}`);
  await dba.end();
});

function processing(): ReturnType<typeof createProcessing> {
  return createProcessing({
    applyPool: serving,
    pool: serving,
    source: 'shop',
    tenant: 'default',
    handlers: defineHandlers({ 'plan.updated': keeps }),
    operations: [note],
    fetch: () => ({ kind: 'unavailable' }),
  });
}

const newEvent = () => ({ scope: 'shop', eventId: `evt_${token()}`, type: 'plan.updated', payload: {}, created: null });

async function warnings(): Promise<readonly string[]> {
  const lines: string[] = [];
  const log = createLogger('warn', 'test', { write: (line) => void lines.push(line) });
  await untilDatabaseReady(serving, log, new AbortController().signal);
  return lines.filter((line) => line.includes('lacks rights'));
}

describe('a role that may create nothing, after somebody else applied the migrations', () => {
  it('does with the documented grants whatever a receiver and a worker do, and is warned of nothing', async () => {
    expect(await schemaState(serving)).toBe('ok');
    expect(await describeSchema(serving, '0.0.0')).toMatchObject({ state: 'current', pending: [] });
    await serving.query(
      `insert into oncehook.orders (tenant_id, id, total_minor, currency) values ('t', 'o', 1, 'usd')`,
    );
    await serving.query(`select oncehook.request_cancel('t', 'o')`);
    await serving.query('select * from oncehook.order_ledger_differences');
    // Its number comes from a sequence, which the table has along.
    await serving.query(
      `insert into oncehook.operator_actions (action, request_key, result) values ('replay', 'k', 'replayed')`,
    );
    expect(await warnings()).toEqual([]);
  });

  it('fetches, takes turns, and makes effects', async () => {
    const { store, apply, perform } = processing();
    const event = newEvent();
    expect(await store(event)).toBe('inserted');
    expect(await apply(event)).toMatchObject({ result: { kind: 'done', outcome: 'applied' }, defect: null });
    expect(await perform(operationKey('note', 'plan_1', event.eventId))).toBe('confirmed');

    // Rows that came without their sequence: a turn puts the sequence forward.
    await dba.query('update oncehook.object_states set fetch_order = fetch_order + 1000');
    const next = newEvent();
    await store(next);
    expect(await apply(next)).toMatchObject({ result: { kind: 'done', outcome: 'applied' }, defect: null });
  });

  it('may use what a later migration makes', async () => {
    await dba.query('create table oncehook.later (id bigint); create sequence oncehook.later_numbers');
    try {
      await serving.query(`insert into oncehook.later values (nextval('oncehook.later_numbers'))`);
      await serving.query('select last_value from oncehook.later_numbers');
    } finally {
      await dba.query('drop table oncehook.later; drop sequence oncehook.later_numbers');
    }
  });

  it('without a grant of ours is warned, and its events wait for that instead of being quarantined', async () => {
    await dba.query(`revoke all on sequence oncehook.fetch_order from ${role}`);
    expect(await warnings()).toEqual([expect.stringMatching(/serving_\w+ .*lacks rights.* on fetch_order;/)]);
    const { store, apply } = processing();
    const event = newEvent();
    await store(event);
    const refused: unknown = await apply(event).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: '42501' });
    expect(toActivityFailure(refused)).toMatchObject({
      type: 'infrastructure',
      nonRetryable: false,
      details: [{ code: 'sqlstate_42501' }],
    });
    await dba.query(await documentedGrants());
    expect(await apply(event)).toMatchObject({ result: { kind: 'done', outcome: 'applied' } });
  });
});

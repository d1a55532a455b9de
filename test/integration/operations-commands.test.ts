import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { idempotencyKey, type OperationStatus } from '../../src/domain/operation.js';
import { operationKey } from '../../src/index.js';
import { sha256Hex } from '../../src/sha256.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { token } from '../support/payment-event.js';
import { commandRunner, runCommand } from '../support/run-command.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { STAND_IN_KEY, startStandIn, type StripeStandIn } from '../support/stripe-stand-in.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

const CONFIG = `version: 1
sources:
  stripe:
    kind: stripe
    secrets: ["\${STRIPE_WEBHOOK_SECRET}"]
    account: acct_own
    mode: test
    apiKey: "\${STRIPE_API_KEY}"
email: { orderPaid: off, refundSucceeded: off, refundFailed: off }
`;
const SCOPE = 'stripe:acct_own:test';
const BY = ['--by', 'ana', '--reason', 'INC-42'] as const;
const NO_TEMPORAL = '127.0.0.1:1';

let dir: string;
let database: TestDatabase;
let standIn: StripeStandIn;
let env: Record<string, string>;

beforeAll(async () => {
  dir = openTempDir();
  database = await openDatabase();
  standIn = await startStandIn(join(dir, 'ledger.jsonl'));
  const config = join(dir, 'oncehook.yaml');
  writeFileSync(config, CONFIG);
  env = {
    ONCEHOOK_CONFIG: config,
    DATABASE_URL: database.url,
    STRIPE_WEBHOOK_SECRET: 'whsec_0123456789abcdef',
    STRIPE_API_KEY: STAND_IN_KEY,
    STRIPE_API_BASE: standIn.base,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_TASK_QUEUE: `operations-${token()}`,
  };
});
afterAll(async () => {
  await standIn.kill();
  await database.drop();
  removeDir(dir);
});
beforeEach(async () => {
  await database.rows('truncate oncehook.operations, oncehook.operation_pauses, oncehook.operator_actions');
});

const oncehook = commandRunner(() => env);

async function json(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await oncehook(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
}

interface Stored {
  readonly key: string;
  readonly payment: string;
}

/** A refund in some status, as performOperation would have left it. */
async function refund(
  status: OperationStatus,
  changes: { readonly code?: string; readonly lost?: number } = {},
): Promise<Stored> {
  const order = `o_${token()}`;
  const key = operationKey('refund', 'requested', 'default', order, 'r1');
  const payment = await standIn.paid(4_200);
  const params = {
    scope: SCOPE,
    paymentId: payment,
    amountMinor: 4_200,
    currency: 'usd',
    orderId: order,
    purpose: 'requested',
    reason: null,
  };
  const sent = status === 'planned' || status === 'proposed' ? 'null' : 'now()';
  const settled = status === 'confirmed' || status === 'refused' ? 'now()' : 'null';
  const code = changes.code ?? (status === 'refused' || status === 'parked' ? 'some_code' : null);
  await database.rows(
    `insert into oncehook.operations
            (operation_key, kind, tenant_id, params, idempotency_key, status, last_error, lost_answers,
             first_sent_at, last_sent_at, settled_at, next_attempt_at)
     values ($1, 'refund', 'default', $2, $3, $4, $5, $6, ${sent}, ${sent}, ${settled}, now() + interval '1 hour')`,
    [key, JSON.stringify(params), idempotencyKey(key, 1, sha256Hex), status, code, changes.lost ?? 0],
  );
  return { key, payment };
}

async function read(key: string): Promise<Record<string, unknown>> {
  const [row] = await database.rows<Record<string, unknown>>(
    `select *, next_attempt_at <= now() as is_due from oncehook.operations where operation_key = $1`,
    [key],
  );
  return row!;
}

const actions = (): Promise<readonly Record<string, unknown>[]> =>
  database.rows(
    'select operation_key, action, requested_by, reason, result from oncehook.operator_actions order by id',
  );

describe('looking', () => {
  test('lists what matches, and the pauses that stand', async () => {
    const { key } = await refund('proposed', { code: 'amount_cap' });
    await refund('confirmed');
    await oncehook('operations', 'pause', 'email', ...BY);
    const listed = await json(
      'operations',
      'list',
      '--status',
      'proposed',
      '--kind',
      'refund',
      '--reason-code',
      'amount_cap',
    );
    expect(listed).toMatchObject({
      operations: [
        { operationKey: key, status: 'proposed', reason: 'amount_cap', amountMinor: '4200', currency: 'usd' },
      ],
      pauses: [{ kind: 'email', tenant: '*', scope: '*', requestedBy: 'ana', reason: 'INC-42' }],
      more: false,
    });
    expect(await json('operations', 'list', '--limit', '1')).toMatchObject({ more: true });
    const { stdout } = await oncehook('operations', 'list');
    expect(stdout).toContain('42.00 USD');
    expect(stdout).toContain('proposed/amount_cap');
  });

  test('shows one with all that was asked of it', async () => {
    const { key } = await refund('proposed');
    await oncehook('operations', 'settle', key, '--as', 'refused', ...BY);
    expect(await json('operations', 'show', key)).toMatchObject({
      status: 'refused',
      reason: 'settled_by_operator',
      actions: [{ action: 'settle', requestedBy: 'ana', reason: 'INC-42', result: 'refused' }],
    });
    const { stdout } = await oncehook('operations', 'show', key);
    expect(stdout).toContain('settle by ana: INC-42 -> refused');
  });

  test('says what is not there, and what is not said right', async () => {
    expect(await oncehook('operations', 'show', 'refund:nothing')).toMatchObject({ code: 3 });
    expect(await oncehook('operations', 'approve', 'refund:nothing', ...BY)).toMatchObject({ code: 3 });
    expect(await oncehook('operations', 'approve', 'refund:nothing')).toMatchObject({ code: 2 });
    expect(await oncehook('operations', 'list', '--status', 'nonsense')).toMatchObject({ code: 2 });
    expect(await oncehook('operations', 'resume', 'email', ...BY)).toMatchObject({ code: 3 });
  });
});

describe('without Temporal', () => {
  const temporal = (): string => env.TEMPORAL_ADDRESS!;
  let address: string;
  beforeAll(() => {
    address = temporal();
    env.TEMPORAL_ADDRESS = NO_TEMPORAL;
  });
  afterAll(() => {
    env.TEMPORAL_ADDRESS = address;
  });

  test('approval stands, is due for the sweeper, and says so', async () => {
    const { key } = await refund('proposed');
    const { code, stderr } = await oncehook('operations', 'approve', key, ...BY);
    expect(code).toBe(0);
    expect(stderr).toContain('Temporal does not answer');
    const row = await read(key);
    expect(row).toMatchObject({ status: 'planned', is_due: true, last_error: null });
    expect(row.approved_at).not.toBeNull();
    expect(await actions()).toEqual([
      { operation_key: key, action: 'approve', requested_by: 'ana', reason: 'INC-42', result: 'planned' },
    ]);
    expect(await json('operations', 'approve', key, ...BY)).toMatchObject({ result: 'unchanged' });
  });

  test.each(['confirmed', 'refused', 'parked'] as const)('what is %s cannot be approved', async (status) => {
    const { key } = await refund(status);
    expect(await oncehook('operations', 'approve', key, ...BY)).toMatchObject({ code: 1 });
    expect(await read(key)).toMatchObject({ status });
  });

  test('many are approved after a look, and not without a yes', async () => {
    const { key } = await refund('proposed');
    await refund('proposed');
    const dry = await json('operations', 'approve', '--kind', 'refund', '--dry-run', ...BY);
    expect(dry).toEqual({ would: 'approve', operations: 2 });
    expect(await oncehook('operations', 'approve', '--kind', 'refund', ...BY)).toMatchObject({ code: 2 });
    expect(await read(key)).toMatchObject({ status: 'proposed' });
    expect(await oncehook('operations', 'approve', '--kind', 'refund', '--yes', ...BY)).toMatchObject({ code: 0 });
    expect(await read(key)).toMatchObject({ status: 'planned' });
  });

  test('a refusal is tried again under a new key, and nothing else is', async () => {
    const { key } = await refund('refused');
    expect(await oncehook('operations', 'retry', key, ...BY)).toMatchObject({ code: 0 });
    expect(await read(key)).toMatchObject({
      status: 'planned',
      generation: 2,
      idempotency_key: idempotencyKey(key, 2, sha256Hex),
      attempts: 0,
      first_sent_at: null,
      settled_at: null,
      is_due: true,
    });
    for (const status of ['parked', 'proposed', 'confirmed'] as const) {
      const other = await refund(status);
      expect(await oncehook('operations', 'retry', other.key, ...BY)).toMatchObject({ code: 1 });
      expect(await read(other.key)).toMatchObject({ status, generation: 1 });
    }
  });

  test('what is parked is settled by hand', async () => {
    const { key } = await refund('parked', { code: 'outcome_unknown', lost: 1 });
    const settle = ['operations', 'settle', key, '--as', 'confirmed', ...BY];
    expect(await oncehook(...settle, '--reference', 'not a reference')).toMatchObject({ code: 2 });
    expect(await oncehook(...settle, '--reference', 're_1')).toMatchObject({ code: 0 });
    expect(await read(key)).toMatchObject({ status: 'confirmed', provider_reference: 're_1', last_error: null });

    const { key: refused } = await refund('parked', { code: 'outcome_unknown', lost: 1 });
    await oncehook('operations', 'settle', refused, '--as', 'refused', ...BY);
    expect(await read(refused)).toMatchObject({ status: 'refused', last_error: 'settled_by_operator' });

    const { key: open } = await refund('unknown', { lost: 1 });
    expect(await oncehook('operations', 'settle', open, '--as', 'refused', ...BY)).toMatchObject({ code: 1 });
    expect(await oncehook('operations', 'settle', open, '--as', 'confirmed', ...BY)).toMatchObject({ code: 1 });
  });

  test('a pause is set and lifted', async () => {
    const { key } = await refund('planned');
    const scope = ['--scope', SCOPE];
    expect(await json('operations', 'pause', 'all', ...scope, ...BY)).toMatchObject({ result: 'paused', kind: '*' });
    expect(await json('operations', 'pause', 'all', ...scope, ...BY)).toMatchObject({ result: 'unchanged' });
    expect(await json('operations', 'show', key)).toMatchObject({ paused: true, pauses: [{ scope: SCOPE }] });
    expect(await oncehook('operations', 'resume', 'all', ...BY)).toMatchObject({ code: 3 });
    expect(await oncehook('operations', 'resume', 'all', ...scope, ...BY)).toMatchObject({ code: 0 });
    expect(await read(key)).toMatchObject({ status: 'planned', is_due: true });
    expect(await database.rows('select from oncehook.operation_pauses')).toHaveLength(0);
    expect((await actions()).map(({ action }) => action)).toEqual(['pause', 'pause', 'resume', 'resume']);
  });
});

describe('with a worker', () => {
  let worker: ServiceProcess;
  beforeAll(async () => {
    worker = await startService('worker', env);
  });
  afterAll(() => worker.stop());

  const due = (key: string): Promise<unknown> =>
    database.rows('update oncehook.operations set next_attempt_at = now() where operation_key = $1', [key]);
  const isIn = (key: string, status: OperationStatus) => async (): Promise<boolean> =>
    (await read(key)).status === status;
  const made = (payment: string): number =>
    standIn.refunds().filter(({ paymentIntent }) => paymentIntent === payment).length;

  test('money waits for approval, and is then moved once', async () => {
    const { key, payment } = await refund('planned');
    await due(key);
    await until('it is proposed', isIn(key, 'proposed'), 30_000);
    expect(await read(key)).toMatchObject({ last_error: 'needs_approval', attempts: 0 });
    expect(made(payment)).toBe(0);
    expect(await json('operations', 'approve', key, '--wait', '30s', ...BY)).toMatchObject({ result: 'confirmed' });
    expect(made(payment)).toBe(1);
    expect((await read(key)).provider_reference).toBe(standIn.refunds().at(-1)?.id);
  });

  test('what was approved while Temporal was away is taken up by the sweeper', async () => {
    const { key, payment } = await refund('proposed');
    const away = { ...env, TEMPORAL_ADDRESS: NO_TEMPORAL };
    expect(await runCommand(['operations', 'approve', key, ...BY], away)).toMatchObject({ code: 0 });
    await until('it is made', isIn(key, 'confirmed'), 30_000);
    expect(made(payment)).toBe(1);
  });

  test('a refused key pauses the account until the pause is lifted', async () => {
    const { key, payment } = await refund('proposed');
    await standIn.fail({ kind: 'status', status: 401, times: 50 });
    await oncehook('operations', 'approve', key, ...BY);
    await until('the account is paused', async () => {
      const pauses = await database.rows('select from oncehook.operation_pauses where scope = $1', [SCOPE]);
      return pauses.length === 1;
    });
    await worker.logged('account paused: the other side refuses its key');
    const metrics = await (await fetch(`http://127.0.0.1:${worker.adminPort}/metrics`)).text();
    expect(metrics).toMatch(/oncehook_operation_alarms_total\{kind="refund",alarm="account_paused"\} 1/);
    await standIn.fail();
    expect(made(payment)).toBe(0);
    expect(await oncehook('operations', 'resume', 'all', '--scope', SCOPE, ...BY)).toMatchObject({ code: 0 });
    await until('it is made', isIn(key, 'confirmed'), 30_000);
    expect(made(payment)).toBe(1);
  });

  test('a wait that ends first says so, and what was asked for stands', async () => {
    const { key } = await refund('proposed');
    await oncehook('operations', 'pause', 'refund', ...BY);
    expect(await oncehook('operations', 'approve', key, '--wait', '1s', ...BY)).toMatchObject({ code: 4 });
    expect(await read(key)).toMatchObject({ status: 'planned' });
    await oncehook('operations', 'resume', 'refund', ...BY);
    await until('it is made', isIn(key, 'confirmed'), 30_000);
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CheckpointHook } from '../../src/checkpoints.js';
import type { Fault } from '../../src/dev/stripe-stand-in/faults.js';
import type { PerformOperationResult } from '../../src/domain/outcome.js';
import { operationKey, type AnyOperationDefinition } from '../../src/index.js';
import { createStripeAccess, type StripeSourceAccess } from '../../src/providers/stripe-access.js';
import { stripeRefundOperation, type RefundParams } from '../../src/providers/stripe-refund.js';
import {
  openOperationsBench,
  sha256Hex,
  type OperationsBench,
  type PerformOptions,
} from '../support/operations-bench.js';
import { DEAD_MS } from '../support/settle-attempts.js';
import { STAND_IN_KEY, startStandIn, type StripeStandIn } from '../support/stripe-stand-in.js';

const SCOPE = 'stripe:acct_own:test';
const KEY = operationKey('refund', 'requested', 't1', 'o1', 'r1');
const HOUR_MS = 3_600_000;

let bench: OperationsBench;
let folder: string;
let standIn: StripeStandIn;

beforeAll(async () => {
  bench = await openOperationsBench();
});
afterAll(() => bench.close());
beforeEach(async () => {
  await bench.pool.query('truncate oncehook.operations, oncehook.operation_pauses');
  folder = mkdtempSync(join(tmpdir(), 'oncehook-refund-'));
  standIn = await startStandIn(join(folder, 'ledger.jsonl'));
});
afterEach(async () => {
  await standIn.kill();
  rmSync(folder, { recursive: true, force: true });
});

function refund(source: Partial<StripeSourceAccess> = {}): AnyOperationDefinition {
  const own: StripeSourceAccess = {
    account: 'acct_own',
    mode: 'test',
    connected: new Set(['acct_connected']),
    apiKey: { reveal: () => STAND_IN_KEY },
    ...source,
  };
  return stripeRefundOperation(createStripeAccess({ sources: [own], apiBase: standIn.base }));
}

function paramsFor(paymentId: string, changes: Partial<RefundParams> = {}): RefundParams {
  return {
    scope: SCOPE,
    paymentId,
    amountMinor: 4_200,
    currency: 'usd',
    orderId: 'o1',
    purpose: 'requested',
    reason: 'requested_by_customer',
    ...changes,
  };
}

type Attempt = () => Promise<PerformOperationResult>;

/** Plans the refund and gives one attempt at a time. */
async function planned(
  params: RefundParams,
  options: Omit<PerformOptions, 'definitions'> = {},
  key = KEY,
): Promise<Attempt> {
  const definitions = [refund()];
  await bench.plan([{ kind: 'refund', key, params }], { definitions });
  const perform = bench.performer({ ...options, definitions });
  return () => perform({ operationKey: key });
}

const operationId = (key = KEY): string => `oncehook:${sha256Hex(key).slice(0, 40)}`;

describe('a refund', () => {
  test('is made once, under its key and name, and never again', async () => {
    const payment = await standIn.paid(10_000);
    const attempt = await planned(paramsFor(payment));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });

    const [made, ...others] = standIn.refunds();
    expect(others).toEqual([]);
    expect(made).toMatchObject({
      paymentIntent: payment,
      amount: 4_200,
      currency: 'usd',
      idempotencyKey: `${operationId()}:1`,
      metadata: { operation_id: operationId(), order_id: 'o1', tenant_id: 't1' },
      account: null,
    });
    expect(await bench.read(KEY)).toMatchObject({ attempts: 1, lost_answers: 0, provider_reference: made?.id });
  });

  test('of a connected account is made in its name', async () => {
    const inItsName = { stripeAccount: 'acct_connected' };
    const { id } = await standIn.stripe.paymentIntents.create(
      { amount: 4_200, currency: 'usd', payment_method: 'pm_card_visa', confirm: true },
      inItsName,
    );
    const attempt = await planned(paramsFor(id, { scope: 'stripe:acct_connected:test' }));
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
    expect(standIn.refunds()).toMatchObject([{ account: 'acct_connected' }]);
  });

  test('that Stripe has accepted and not made yet is confirmed: what becomes of it is told by events', async () => {
    await standIn.setRefundStatus('pending');
    const attempt = await planned(paramsFor(await standIn.paid(10_000)));
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
  });

  test('is found among more refunds than one page holds', async () => {
    const payment = await standIn.paid(10_000);
    const attempt = await planned(paramsFor(payment));
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
    for (let count = 0; count < 120; count++) {
      await standIn.stripe.refunds.create({ payment_intent: payment, amount: 1 });
    }
    await forget();
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
    expect(standIn.refunds()).toHaveLength(121);
  });
});

/** The database as a backup from before the first send would be. */
async function forget(): Promise<void> {
  await bench.pool.query(
    `update oncehook.operations
        set status = 'planned', attempts = 0, lost_answers = 0, first_sent_at = null, last_sent_at = null,
            settled_at = null, provider_reference = null, last_error = null`,
  );
}

const create = { method: 'POST', path: '/v1/refunds' } as const;

describe('an answer that is lost', () => {
  const LOST: readonly (readonly [string, Fault])[] = [
    ['a reset after execution', { ...create, kind: 'lose-answer' }],
    ['silence after execution', { ...create, kind: 'hang', executes: true }],
    ['an answer that drips', { ...create, kind: 'drip' }],
    ['half an answer', { ...create, kind: 'truncated' }],
    ['a 500 after execution', { ...create, kind: 'stored-500', executes: true }],
    ["a proxy's page", { ...create, kind: 'non-json' }],
    ['another object', { ...create, kind: 'other-object' }],
  ];

  test.each(LOST)('by %s is unknown, then found and adopted', async (_name, fault) => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)), {
      limits: { attemptMs: 1_500, lookMs: 1_000, graceMs: 200 },
    });
    await standIn.fail(fault);
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    expect(standIn.refunds()).toHaveLength(1);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(standIn.refunds()).toHaveLength(1);
    expect(await bench.read(KEY)).toMatchObject({
      attempts: 1,
      lost_answers: 1,
      provider_reference: standIn.refunds()[0]?.id,
    });
  });

  test.each<readonly [string, Fault]>([
    ['a reset before execution', { ...create, kind: 'reset' }],
    ['silence without execution', { ...create, kind: 'hang', executes: false }],
    ['a 503', { ...create, kind: 'status', status: 503 }],
  ])('by %s is unknown, then absent, and sent again under the same key', async (_name, fault) => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)), {
      limits: { attemptMs: 1_500, lookMs: 1_000, graceMs: 200 },
    });
    await standIn.fail(fault);
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    expect(standIn.refunds()).toEqual([]);
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
    expect(standIn.refunds()).toMatchObject([{ idempotencyKey: `${operationId()}:1` }]);
  });

  test('while the first is still being executed waits for it', async () => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)), {
      limits: { attemptMs: 300, lookMs: 300, graceMs: 100 },
    });
    await standIn.fail({ ...create, kind: 'slow', ms: 1_500 });
    expect(await attempt()).toMatchObject({ status: 'unknown' });
    expect(await attempt()).toMatchObject({ status: 'unknown' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'idempotency_key_in_use', lost_answers: 2 });
    await expect.poll(() => standIn.refunds().length, { timeout: 5_000 }).toBe(1);
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
    expect(standIn.refunds()).toHaveLength(1);
  });

  test('that is a 500 kept for good is asked for again, looked for when the key is old, and parked after a day', async () => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)));
    await standIn.fail({ ...create, kind: 'stored-500', executes: false });
    expect(await attempt()).toMatchObject({ status: 'unknown' });
    expect(await attempt()).toMatchObject({ status: 'unknown' });
    expect(await bench.read(KEY)).toMatchObject({ attempts: 2, last_error: 'http_500' });

    await bench.age(KEY, 21 * HOUR_MS);
    await standIn.setClock(25 * HOUR_MS);
    expect(await attempt()).toMatchObject({ status: 'unknown' });
    // It looked and sent nothing: by now the key may be forgotten, and the same key a new refund.
    expect(await bench.read(KEY)).toMatchObject({ attempts: 2, last_error: 'effect_absent' });
    await bench.age(KEY, 4 * HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(KEY)).toMatchObject({ attempts: 2, last_error: 'outcome_unknown' });
    expect(standIn.refunds()).toEqual([]);
  });

  test('for longer than Stripe keeps the key is found all the same', async () => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)));
    await standIn.fail({ ...create, kind: 'lose-answer' });
    await attempt();
    await bench.age(KEY, 30 * HOUR_MS);
    await standIn.setClock(30 * HOUR_MS);
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
    expect(standIn.refunds()).toHaveLength(1);
  });

  test('with the database, which is restored from before the send when the key is pruned, makes no second refund', async () => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)));
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
    await forget();
    await standIn.setClock(30 * HOUR_MS);
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
    expect(standIn.refunds()).toHaveLength(1);
  });

  test('of the look leaves the refund where it is', async () => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)));
    await standIn.fail({ method: 'GET', path: '/v1/refunds', kind: 'status', status: 503 });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'http_503', lost_answers: 0 });
    await standIn.fail({ method: 'GET', path: '/v1/payment_intents', kind: 'other-object' });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'answer_nonsense' });
    expect(standIn.refunds()).toEqual([]);
  });
});

describe('what Stripe says', () => {
  type Said = readonly [
    says: Omit<Extract<Fault, { kind: 'status' }>, 'kind'>,
    becomes: 'planned' | 'refused' | 'parked' | 'unknown',
    code: string,
  ];

  test.each<Said>([
    [{ status: 429 }, 'planned', 'rate_limited'],
    [{ status: 429, code: 'lock_timeout' }, 'planned', 'lock_timeout'],
    [{ status: 429, headers: { 'Stripe-Should-Retry': 'true' } }, 'planned', 'rate_limited'],
    [{ status: 409, code: 'idempotency_key_in_use' }, 'unknown', 'idempotency_key_in_use'],
    [{ status: 500 }, 'unknown', 'http_500'],
    [{ status: 502 }, 'unknown', 'http_502'],
    [{ status: 402, code: 'card_declined' }, 'refused', 'card_declined'],
    [{ status: 400, code: 'amount_too_small' }, 'refused', 'amount_too_small'],
    [{ status: 400 }, 'refused', 'invalid_request'],
    [{ status: 404, code: 'resource_missing' }, 'parked', 'resource_missing'],
    [{ status: 400, code: 'charge_disputed' }, 'parked', 'charge_disputed'],
    [{ status: 400, code: 'refund_disputed_payment' }, 'parked', 'refund_disputed_payment'],
    [{ status: 401 }, 'planned', 'provider_auth'],
    [{ status: 403 }, 'planned', 'provider_permission'],
  ])('%o: %s, %s', async (says, status, code) => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)));
    await standIn.fail({ ...create, kind: 'status', ...says });
    expect(await attempt()).toMatchObject({ status });
    expect(await bench.read(KEY)).toMatchObject({ last_error: code, lost_answers: status === 'unknown' ? 1 : 0 });
    expect(standIn.refunds()).toEqual([]);
  });

  test('a time to wait is kept to, and capped', async () => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)));
    await standIn.fail({ ...create, kind: 'status', status: 429, headers: { 'Retry-After': '90' } });
    expect(await attempt()).toMatchObject({ delayMs: 90_000 });
    await standIn.fail({ ...create, kind: 'status', status: 503, headers: { 'Retry-After': '86400' } });
    expect(await attempt()).toMatchObject({ status: 'unknown', delayMs: 6 * HOUR_MS });
  });

  test('a refusal of the first send says nothing of an earlier one', async () => {
    const attempt = await planned(paramsFor(await standIn.paid(10_000)));
    await standIn.fail({ ...create, kind: 'reset' }, { ...create, kind: 'status', status: 429 });
    await attempt();
    expect(await attempt()).toMatchObject({ status: 'unknown' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'rate_limited', lost_answers: 1 });
  });

  test('other parameters under the same key are a defect of ours, and parked', async () => {
    const payment = await standIn.paid(10_000);
    await standIn.stripe.refunds.create(
      { payment_intent: payment, amount: 1 },
      { idempotencyKey: `${operationId()}:1` },
    );
    const attempt = await planned(paramsFor(payment));
    expect(await attempt()).toMatchObject({ status: 'parked' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'idempotency_error' });
  });
});

describe('a refund that the payment has no room for', () => {
  /** Somebody refunds in Stripe's dashboard between our look and our send. */
  function meanwhile(payment: string, amount: number): CheckpointHook {
    let isDone = false;
    return async (name) => {
      if (name !== 'operation.intent-stored' || isDone) return;
      isDone = true;
      await standIn.stripe.refunds.create({ payment_intent: payment, amount });
    };
  }

  test('is refused when all of it was given back already', async () => {
    const payment = await standIn.paid(4_200);
    await standIn.stripe.refunds.create({ payment_intent: payment });
    const attempt = await planned(paramsFor(payment, { purpose: 'late' }));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'refused' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'nothing_left', attempts: 0 });
    expect(standIn.refunds()).toHaveLength(1);
  });

  test('is parked when a part of it was', async () => {
    const payment = await standIn.paid(4_200);
    await standIn.stripe.refunds.create({ payment_intent: payment, amount: 1 });
    const attempt = await planned(paramsFor(payment, { purpose: 'surplus' }));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'exceeds_payment', attempts: 0 });
  });

  test('is refused when somebody gave all of it back between look and send', async () => {
    const payment = await standIn.paid(4_200);
    const attempt = await planned(paramsFor(payment), { checkpoints: meanwhile(payment, 4_200) });
    expect(await attempt()).toEqual({ kind: 'settled', status: 'refused' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'charge_already_refunded', attempts: 1 });
    expect(standIn.refunds()).toHaveLength(1);
  });

  test('does not count what failed: that money is back', async () => {
    const payment = await standIn.paid(4_200);
    const { id } = await standIn.stripe.refunds.create({ payment_intent: payment });
    await standIn.control('refund', { id, status: 'failed', failureReason: 'declined' });
    const attempt = await planned(paramsFor(payment));
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
  });

  test('is parked while the payment has not succeeded, is of another currency, is disputed or does not exist', async () => {
    const { id: open } = await standIn.stripe.paymentIntents.create({ amount: 4_200, currency: 'usd' });
    const disputed = await standIn.paid(4_200);
    await standIn.control('dispute', { paymentIntent: disputed, status: 'needs_response' });
    const paid = await standIn.paid(4_200);
    const scenes = [
      [paramsFor(open), 'payment_not_succeeded'],
      [paramsFor(paid, { currency: 'eur' }), 'currency_mismatch'],
      [paramsFor(disputed), 'charge_disputed'],
      [paramsFor('pi_nowhere'), 'resource_missing'],
    ] as const;
    for (const [index, [params, code]] of scenes.entries()) {
      const key = `${KEY}:${index}`;
      const attempt = await planned(params, {}, key);
      expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
      expect(await bench.read(key)).toMatchObject({ last_error: code });
    }
    expect(standIn.refunds()).toEqual([]);
  });

  test('is parked when a refund of another amount goes under its name', async () => {
    const payment = await standIn.paid(10_000);
    await standIn.stripe.refunds.create({
      payment_intent: payment,
      amount: 100,
      metadata: { operation_id: operationId() },
    });
    const attempt = await planned(paramsFor(payment));
    expect(await attempt()).toMatchObject({ status: 'parked' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'refund_conflict', attempts: 0 });
  });

  test('two of which would be too much is made once, at whatever moment the other comes', async () => {
    const payment = await standIn.paid(6_000);
    const keys = [1, 2].map((number) => operationKey('refund', 'requested', 't1', 'o1', `both-${number}`));
    const attempts = await Promise.all(keys.map((key) => planned(paramsFor(payment), {}, key)));
    await Promise.all(attempts.map((attempt) => attempt()));
    await Promise.all(attempts.map((attempt) => attempt()));
    expect(standIn.refunds()).toHaveLength(1);
    const statuses = await Promise.all(keys.map(async (key) => (await bench.read(key)).status));
    expect(statuses).toContain('confirmed');
    expect(statuses.filter((status) => status === 'refused' || status === 'parked')).toHaveLength(1);
  });
});

describe('an account that does not let us in', () => {
  test.each([
    ['when looking', { method: 'GET', path: '/v1/refunds' }],
    ['when sending', create],
  ] as const)('%s is paused with one alarm, and goes on when that is lifted', async (_name, request) => {
    const log: string[] = [];
    const payment = await standIn.paid(10_000);
    const first = await planned(paramsFor(payment), { log });
    const other = await planned(paramsFor(payment, { amountMinor: 100 }), { log }, `${KEY}:other`);
    await standIn.fail({ ...request, kind: 'status', status: 401 });
    expect(await first()).toMatchObject({ kind: 'again', status: 'planned' });
    const { rows: pauses } = await bench.pool.query('select * from oncehook.operation_pauses');
    expect(pauses).toMatchObject([
      { kind: '*', tenant_id: '*', scope: SCOPE, requested_by: 'oncehook', reason: 'provider_auth' },
    ]);

    expect(await other()).toMatchObject({ kind: 'again', status: 'planned', delayMs: 300_000 });
    expect(await first()).toMatchObject({ kind: 'again', status: 'planned', delayMs: 300_000 });
    expect(standIn.refunds()).toEqual([]);
    expect(log.filter((line) => line.includes('account paused'))).toHaveLength(1);

    await bench.pool.query('delete from oncehook.operation_pauses');
    expect(await first()).toMatchObject({ status: 'confirmed' });
    expect(await other()).toMatchObject({ status: 'confirmed' });
    expect(standIn.refunds()).toHaveLength(2);
  });

  test('does not pause another account', async () => {
    await bench.pool.query(
      `insert into oncehook.operation_pauses (kind, tenant_id, scope, requested_by, reason)
       values ('*', '*', 'stripe:acct_other:test', 'oncehook', 'provider_auth')`,
    );
    const attempt = await planned(paramsFor(await standIn.paid(10_000)));
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
  });

  test.each<readonly [string, Partial<StripeSourceAccess>]>([
    ['without a key', { apiKey: null }],
    ['with a key of the other mode', { apiKey: { reveal: () => 'sk_live_standin' } }],
    ['of another account', { account: 'acct_other' }],
    ['of the other mode', { mode: 'live' }],
  ])('for a source %s the refund stays planned, with one alarm', async (_name, source) => {
    const payment = await standIn.paid(10_000);
    const definitions = [refund(source)];
    await bench.plan([{ kind: 'refund', key: KEY, params: paramsFor(payment) }], { definitions });
    const log: string[] = [];
    const perform = bench.performer({ definitions, log });
    for (let time = 0; time < 3; time++) {
      expect(await perform({ operationKey: KEY })).toMatchObject({ kind: 'again', status: 'planned' });
    }
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'no_api_key', lost_answers: 0 });
    expect(log.filter((line) => line.includes('configuration is mended'))).toHaveLength(1);
    expect(standIn.refunds()).toEqual([]);
  });
});

test('an attempt that died with the answer leaves a refund that the next one finds', async () => {
  const death: CheckpointHook = (name) =>
    name === 'operation.answered' ? Promise.reject(new Error('died')) : Promise.resolve();
  const params = paramsFor(await standIn.paid(10_000));
  const dying = await planned(params, { checkpoints: death });
  await expect(dying()).rejects.toThrow('died');
  expect(await bench.read(KEY)).toMatchObject({ status: 'sending' });
  const attempt = await planned(params);
  await bench.age(KEY, DEAD_MS);
  expect(await attempt()).toMatchObject({ status: 'confirmed' });
  expect(standIn.refunds()).toHaveLength(1);
});

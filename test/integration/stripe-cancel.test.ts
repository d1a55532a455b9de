import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CheckpointHook } from '../../src/checkpoints.js';
import type { PerformOperationResult } from '../../src/domain/outcome.js';
import { operationKey } from '../../src/index.js';
import { createStripeAccess } from '../../src/providers/stripe-access.js';
import { stripeCancelOperation } from '../../src/providers/stripe-cancel.js';
import { openOperationsBench, type OperationsBench, type PerformOptions } from '../support/operations-bench.js';
import { STAND_IN_KEY, startStandIn, type StripeStandIn } from '../support/stripe-stand-in.js';

const KEY = operationKey('cancel_payment_intent', 't1', 'pi_1');

let bench: OperationsBench;
let folder: string;
let standIn: StripeStandIn;

beforeAll(async () => {
  bench = await openOperationsBench();
  folder = mkdtempSync(join(tmpdir(), 'oncehook-cancel-'));
});
afterAll(async () => {
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await bench.pool.query('truncate oncehook.operations, oncehook.operation_pauses');
  rmSync(join(folder, 'ledger.jsonl'), { force: true });
  standIn = await startStandIn(join(folder, 'ledger.jsonl'));
});
afterEach(() => standIn.kill());

async function planned(
  paymentId: string,
  options: Omit<PerformOptions, 'definitions'> = {},
): Promise<() => Promise<PerformOperationResult>> {
  const source = {
    account: 'acct_own',
    mode: 'any',
    connected: new Set<string>(),
    apiKey: { reveal: () => STAND_IN_KEY },
  } as const;
  const definitions = [stripeCancelOperation(createStripeAccess({ sources: [source], apiBase: standIn.base }))];
  const params = { scope: 'stripe:acct_own:test', paymentId, orderId: 'o1', reason: 'abandoned' };
  await bench.plan([{ kind: 'cancel_payment_intent', key: KEY, params }], { definitions });
  const perform = bench.performer({ ...options, definitions });
  return () => perform({ operationKey: KEY });
}

async function openPayment(capture: 'automatic' | 'manual' = 'automatic'): Promise<string> {
  const { id } = await standIn.stripe.paymentIntents.create({
    amount: 4_200,
    currency: 'usd',
    payment_method: 'pm_card_visa',
    ...(capture === 'manual' ? { capture_method: capture, confirm: true } : {}),
  });
  return id;
}

const canceled = (): number => standIn.executed().filter(({ effect }) => effect === 'cancel').length;

describe('a cancellation', () => {
  test.each(['automatic', 'manual'] as const)(
    'of a payment that has not happened is made once (%s)',
    async (capture) => {
      const payment = await openPayment(capture);
      const attempt = await planned(payment);
      expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
      expect(await bench.read(KEY)).toMatchObject({ provider_reference: payment, attempts: 1 });
      expect((await standIn.stripe.paymentIntents.retrieve(payment)).cancellation_reason).toBe('abandoned');
      expect(canceled()).toBe(1);
    },
  );

  test('of one that somebody canceled is confirmed without a send', async () => {
    const payment = await openPayment();
    await standIn.stripe.paymentIntents.cancel(payment);
    const attempt = await planned(payment);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(await bench.read(KEY)).toMatchObject({ attempts: 0 });
  });

  test('of one that has succeeded is refused without a send', async () => {
    const attempt = await planned(await standIn.paid(4_200));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'refused' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'already_succeeded', attempts: 0 });
  });

  test('whose answer was lost is found by the state that it brought about', async () => {
    const attempt = await planned(await openPayment());
    await standIn.fail({ method: 'POST', kind: 'lose-answer' });
    expect(await attempt()).toMatchObject({ status: 'unknown' });
    expect(await attempt()).toMatchObject({ status: 'confirmed' });
    expect(canceled()).toBe(1);
  });

  test('whose answer was lost before it was made is refused when the payment succeeded meanwhile', async () => {
    const payment = await openPayment();
    const attempt = await planned(payment);
    await standIn.fail({ method: 'POST', kind: 'reset' });
    expect(await attempt()).toMatchObject({ status: 'unknown' });
    await standIn.stripe.paymentIntents.confirm(payment);
    expect(await attempt()).toMatchObject({ status: 'refused' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'already_succeeded', lost_answers: 1 });
  });

  test.each([
    ['succeeds', 'refused', 'already_succeeded'],
    ['is canceled by somebody', 'confirmed', null],
  ])('of one that %s between look and send is %s', async (what, status, code) => {
    const payment = await openPayment();
    const checkpoints: CheckpointHook = async (name) => {
      if (name !== 'operation.intent-stored') return;
      if (what === 'succeeds') await standIn.stripe.paymentIntents.confirm(payment);
      else await standIn.stripe.paymentIntents.cancel(payment);
    };
    const attempt = await planned(payment, { checkpoints });
    expect(await attempt()).toEqual({ kind: 'settled', status });
    expect(await bench.read(KEY)).toMatchObject({ last_error: code });
  });
});

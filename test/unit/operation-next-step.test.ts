import { describe, expect, test } from 'vitest';
import { nextStep, stepAfterAbsence, type StepFacts } from '../../src/operations/next-step.js';
import type { OperationRow } from '../../src/operations/read-operation.js';
import { MAX_LOST_ANSWERS, type OperationRules } from '../../src/operations/verdict.js';

const HOUR_MS = 3_600_000;
const LEASE_MS = 14_000;
const SEND = { kind: 'send' };
const PARK = { kind: 'move', verdict: { status: 'parked', code: 'outcome_unknown' } };

const PLANNED: OperationRow = {
  operationKey: 'k:1',
  kind: 'k',
  tenant: 't',
  params: {},
  idempotencyKey: 'oncehook:00:1',
  generation: 1,
  status: 'planned',
  attempts: 0,
  lostAnswers: 0,
  prepared: false,
  createdAt: new Date(0),
  firstSentAt: null,
  sinceFirstSentMs: null,
  sinceLastSentMs: null,
  paused: false,
  approved: false,
  event: null,
  scope: null,
};
const sentAgo = (ms: number): Partial<OperationRow> => ({
  attempts: 1,
  firstSentAt: new Date(0),
  sinceFirstSentMs: ms,
  sinceLastSentMs: ms,
});
const DEAD: OperationRow = { ...PLANNED, ...sentAgo(LEASE_MS), status: 'sending' };
const UNKNOWN: OperationRow = { ...PLANNED, ...sentAgo(60_000), status: 'unknown', lostAnswers: 1 };

function factsFor(policy: OperationRules['policy'], changes: Partial<StepFacts> = {}): StepFacts {
  const rules = { policy, keyTtlMs: 0, giveUpAfterMs: Infinity };
  return { rules, enabled: true, heldBack: null, leaseMs: LEASE_MS, ...changes };
}

describe('the next step', () => {
  test.each(['hold', 'resend', 'reconcile'] as const)('waits for an attempt that may be alive (%s)', (policy) => {
    const alive: OperationRow = { ...PLANNED, ...sentAgo(LEASE_MS - 1_500), status: 'sending' };
    expect(nextStep(alive, factsFor(policy))).toEqual({ kind: 'again', delayMs: 1_500 });
  });

  test('hold sends what is planned and never again what may have gone out', () => {
    expect(nextStep(PLANNED, factsFor('hold'))).toEqual(SEND);
    expect(nextStep(DEAD, factsFor('hold'))).toMatchObject(PARK);
    expect(nextStep(UNKNOWN, factsFor('hold'))).toMatchObject(PARK);
  });

  test('hold counts the answer of a dead attempt as lost, and that of an unknown one only once', () => {
    expect(nextStep(DEAD, factsFor('hold'))).toMatchObject({ verdict: { lostAnswers: 1 } });
    expect(nextStep(UNKNOWN, factsFor('hold'))).toMatchObject({ verdict: { lostAnswers: 0 } });
  });

  test('resend sends again, but not without end', () => {
    expect(nextStep(DEAD, factsFor('resend'))).toEqual(SEND);
    expect(nextStep(UNKNOWN, factsFor('resend'))).toEqual(SEND);
    expect(nextStep({ ...DEAD, lostAnswers: MAX_LOST_ANSWERS - 2 }, factsFor('resend'))).toEqual(SEND);
    expect(nextStep({ ...DEAD, lostAnswers: MAX_LOST_ANSWERS - 1 }, factsFor('resend'))).toMatchObject(PARK);
  });

  test('resend trusts a key for 20 of 24 hours after the first send, and then parks what may have happened', () => {
    const keyed = factsFor('resend', { rules: { policy: 'resend', keyTtlMs: 24 * HOUR_MS, giveUpAfterMs: Infinity } });
    const [fresh, stale] = [sentAgo(20 * HOUR_MS - 1), sentAgo(20 * HOUR_MS)];
    for (const row of [DEAD, UNKNOWN, { ...PLANNED, lostAnswers: 1 }]) {
      expect(nextStep({ ...row, ...fresh }, keyed)).toEqual(SEND);
      expect(nextStep({ ...row, ...stale }, keyed)).toMatchObject(PARK);
      // It was sent a moment ago, which makes the key no younger.
      expect(nextStep({ ...row, ...stale, sinceLastSentMs: LEASE_MS }, keyed)).toMatchObject(PARK);
    }
    expect(nextStep({ ...DEAD, ...stale }, keyed)).toMatchObject({ verdict: { lostAnswers: 1 } });
    expect(nextStep({ ...UNKNOWN, ...stale }, factsFor('resend'))).toEqual(SEND);
  });

  test('resend sends what cannot have happened at any age', () => {
    const keyed = factsFor('resend', { rules: { policy: 'resend', keyTtlMs: 24 * HOUR_MS, giveUpAfterMs: Infinity } });
    expect(nextStep({ ...PLANNED, ...sentAgo(48 * HOUR_MS) }, keyed)).toEqual(SEND);
  });

  test('reconcile looks before every send, also the first', () => {
    for (const row of [PLANNED, DEAD, UNKNOWN]) expect(nextStep(row, factsFor('reconcile'))).toEqual({ kind: 'look' });
  });

  test('a brake holds back every send', () => {
    for (const row of [PLANNED, DEAD, UNKNOWN]) {
      expect(nextStep({ ...row, paused: true }, factsFor('resend'))).toMatchObject({ kind: 'again' });
    }
  });

  test('what was switched off is refused, or parked when it may have gone out', () => {
    const off = factsFor('resend', { enabled: false });
    expect(nextStep(PLANNED, off)).toMatchObject({ verdict: { status: 'refused', code: 'switched_off' } });
    expect(nextStep(DEAD, off)).toMatchObject(PARK);
    expect(nextStep({ ...PLANNED, lostAnswers: 1 }, off)).toMatchObject(PARK);
  });
});

describe('after the other side had nothing', () => {
  const withKey: OperationRules = { policy: 'reconcile', keyTtlMs: 24 * HOUR_MS, giveUpAfterMs: Infinity };
  const withoutKey: OperationRules = { ...withKey, keyTtlMs: 0 };

  test('what was never sent is sent, whatever its age: a plan made again after a restore looks like this', () => {
    expect(stepAfterAbsence(PLANNED, withKey)).toEqual(SEND);
    expect(stepAfterAbsence({ ...PLANNED, ...sentAgo(48 * HOUR_MS) }, withKey)).toEqual(SEND);
    expect(stepAfterAbsence(PLANNED, withoutKey)).toEqual(SEND);
  });

  test('an uncertain one is sent again under its key for 20 of 24 hours', () => {
    expect(stepAfterAbsence({ ...UNKNOWN, ...sentAgo(20 * HOUR_MS - 1) }, withKey)).toEqual(SEND);
    expect(stepAfterAbsence({ ...UNKNOWN, ...sentAgo(20 * HOUR_MS) }, withKey)).toMatchObject({
      kind: 'move',
      verdict: { status: 'unknown', code: 'effect_absent' },
    });
  });

  test('it is looked for until 24 hours after the last send, then an operator decides', () => {
    const lastSent = (ms: number): OperationRow => ({ ...UNKNOWN, ...sentAgo(40 * HOUR_MS), sinceLastSentMs: ms });
    expect(stepAfterAbsence(lastSent(24 * HOUR_MS - 1), withKey)).toMatchObject({ verdict: { status: 'unknown' } });
    expect(stepAfterAbsence(lastSent(24 * HOUR_MS), withKey)).toMatchObject(PARK);
  });

  test('without a key an uncertain one is never sent again, and looked for for an hour', () => {
    expect(stepAfterAbsence({ ...UNKNOWN, ...sentAgo(1) }, withoutKey)).toMatchObject({
      verdict: { status: 'unknown' },
    });
    expect(stepAfterAbsence({ ...UNKNOWN, ...sentAgo(HOUR_MS) }, withoutKey)).toMatchObject(PARK);
  });

  test('a dead attempt found so is one more lost answer', () => {
    expect(stepAfterAbsence({ ...DEAD, ...sentAgo(21 * HOUR_MS) }, withKey)).toMatchObject({
      verdict: { status: 'unknown', lostAnswers: 1 },
    });
  });
});

import { describe, expect, test } from 'vitest';
import type { OperationAnswer } from '../../src/index.js';
import type { OperationRow } from '../../src/operations/read-operation.js';
import {
  MAX_LOST_ANSWERS,
  afterFailedLook,
  resultOf,
  verdictOf,
  type AttemptFacts,
  type OperationRules,
} from '../../src/operations/verdict.js';

const DAY_MS = 86_400_000;
const HOLD: OperationRules = { policy: 'hold', keyTtlMs: 0, giveUpAfterMs: 3 * DAY_MS };
const RESEND: OperationRules = { ...HOLD, policy: 'resend' };
const RECONCILE: OperationRules = { policy: 'reconcile', keyTtlMs: DAY_MS, giveUpAfterMs: Infinity };
const FIRST: AttemptFacts = { attempt: 1, lostAnswers: 0, sinceFirstSentMs: 0, spread: 0 };
const AFTER_A_LOST_ANSWER: AttemptFacts = { ...FIRST, attempt: 2, lostAnswers: 1 };

const unknown: OperationAnswer = { kind: 'unknown', code: 'smtp_closed' };
const refused: OperationAnswer = { kind: 'refused', code: 'smtp_550' };
const notSent: OperationAnswer = { kind: 'notSent', code: 'smtp_451' };

describe('the verdict of an answer', () => {
  test('a confirmation ends it, with the reference', () => {
    const verdict = verdictOf({ kind: 'confirmed', reference: 're_1' }, AFTER_A_LOST_ANSWER, HOLD);
    expect(verdict).toMatchObject({ status: 'confirmed', code: null, reference: 're_1', lostAnswers: 0 });
  });

  test('a refusal ends it with its code', () => {
    expect(verdictOf(refused, FIRST, RESEND)).toMatchObject({ status: 'refused', code: 'smtp_550' });
  });

  test('a refusal after a lost answer says nothing of the lost one where there is no key', () => {
    expect(verdictOf(refused, AFTER_A_LOST_ANSWER, RESEND)).toMatchObject({
      status: 'parked',
      code: 'outcome_unknown',
    });
  });

  test('a refusal after a lost answer speaks for both under one key', () => {
    expect(verdictOf(refused, AFTER_A_LOST_ANSWER, RECONCILE)).toMatchObject({ status: 'refused', code: 'smtp_550' });
  });

  test.each(['resend', 'reconcile'] as const)(
    'a refusal under a key that may be forgotten says nothing of an earlier lost answer (%s)',
    (policy) => {
      const keyed: OperationRules = { policy, keyTtlMs: DAY_MS, giveUpAfterMs: 3 * DAY_MS };
      const [fresh, stale] = [(20 * DAY_MS) / 24 - 1, (20 * DAY_MS) / 24];
      const refusedAfter = (sinceFirstSentMs: number, facts = AFTER_A_LOST_ANSWER) =>
        verdictOf(refused, { ...facts, sinceFirstSentMs }, keyed);
      expect(refusedAfter(fresh)).toMatchObject({ status: 'refused', code: 'smtp_550' });
      expect(refusedAfter(stale)).toMatchObject({ status: 'parked', code: 'outcome_unknown' });
      expect(refusedAfter(stale, FIRST)).toMatchObject({ status: 'refused', code: 'smtp_550' });
    },
  );

  test('what was not sent is planned again, later each time', () => {
    expect(verdictOf(notSent, FIRST, HOLD)).toMatchObject({ status: 'planned', code: 'smtp_451', delayMs: 2_000 });
    expect(verdictOf(notSent, { ...FIRST, attempt: 2 }, HOLD)).toMatchObject({ status: 'planned', delayMs: 4_000 });
  });

  test('what was not sent leaves an earlier lost answer as uncertain as it was', () => {
    expect(verdictOf(notSent, AFTER_A_LOST_ANSWER, RESEND)).toMatchObject({ status: 'unknown', lostAnswers: 0 });
  });

  test('what was not sent for too long is refused, and just before that it is not', () => {
    const last = { ...FIRST, sinceFirstSentMs: 3 * DAY_MS - 1 };
    expect(verdictOf(notSent, last, HOLD)).toMatchObject({ status: 'planned' });
    const over = { ...FIRST, sinceFirstSentMs: 3 * DAY_MS };
    expect(verdictOf(notSent, over, HOLD)).toMatchObject({ status: 'refused', code: 'gave_up' });
  });

  test('what was not sent for too long after a lost answer is parked: it may have happened', () => {
    const over = { ...AFTER_A_LOST_ANSWER, sinceFirstSentMs: 3 * DAY_MS };
    expect(verdictOf(notSent, over, RESEND)).toMatchObject({ status: 'parked', code: 'outcome_unknown' });
  });

  test('the other side may ask for more patience', () => {
    const asked = { ...notSent, retryAfterMs: 30_000 };
    expect(verdictOf(asked, FIRST, HOLD)).toMatchObject({ delayMs: 30_000 });
  });

  test('a lost answer parks under hold', () => {
    expect(verdictOf(unknown, FIRST, HOLD)).toMatchObject({
      status: 'parked',
      code: 'outcome_unknown',
      lostAnswers: 1,
    });
  });

  test('a lost answer is sent again under resend, a bounded number of times', () => {
    expect(verdictOf(unknown, FIRST, RESEND)).toMatchObject({ status: 'unknown', delayMs: 5_000, lostAnswers: 1 });
    const nearlyLast = { ...FIRST, lostAnswers: MAX_LOST_ANSWERS - 2 };
    expect(verdictOf(unknown, nearlyLast, RESEND)).toMatchObject({ status: 'unknown' });
    const last = { ...FIRST, lostAnswers: MAX_LOST_ANSWERS - 1 };
    expect(verdictOf(unknown, last, RESEND)).toMatchObject({ status: 'parked', code: 'outcome_unknown' });
  });

  test('a lost answer is looked into without a bound where one can look', () => {
    const many = { ...FIRST, lostAnswers: 50 };
    expect(verdictOf(unknown, many, RECONCILE)).toMatchObject({ status: 'unknown', lostAnswers: 1 });
  });

  test('a lost answer behind what an operator has to mend is tried as often as what was not sent, after a look only', () => {
    const rejected: OperationAnswer = { kind: 'unknown', code: 'permission_denied', configuration: true };
    const fifth = { ...FIRST, attempt: 5, lostAnswers: 4 };
    expect(verdictOf(rejected, fifth, RECONCILE)).toMatchObject({
      status: 'unknown',
      delayMs: 32_000,
      lostAnswers: 1,
    });
    expect(verdictOf(rejected, fifth, RESEND)).toMatchObject({ delayMs: 5_000 * 4 ** 4 });
  });

  test('only a human can decide what a kind parks', () => {
    const verdict = verdictOf({ kind: 'park', code: 'charge_disputed' }, FIRST, RECONCILE);
    expect(verdict).toMatchObject({ status: 'parked', code: 'charge_disputed' });
  });

  test('the workflow hears of a delay only while there is something to do', () => {
    expect(resultOf(verdictOf(refused, FIRST, HOLD))).toEqual({ kind: 'settled', status: 'refused' });
    expect(resultOf(verdictOf(notSent, FIRST, HOLD))).toEqual({ kind: 'again', status: 'planned', delayMs: 2_000 });
  });
});

describe('a look that failed', () => {
  const row = (changes: Partial<OperationRow>): OperationRow => ({
    operationKey: 'k:1',
    kind: 'k',
    tenant: 't',
    params: {},
    idempotencyKey: `oncehook:${'0'.repeat(40)}:1`,
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
    ...changes,
  });

  test('leaves a planned row planned, and waits longer each time', () => {
    expect(afterFailedLook('down', row({}), RECONCILE)).toMatchObject({ status: 'planned', delayMs: 2_000 });
    expect(afterFailedLook('down', row({ attempts: 3 }), RECONCILE)).toMatchObject({ delayMs: 16_000 });
  });

  test('turns a dead attempt into a lost answer', () => {
    const dead = row({ status: 'sending', attempts: 1 });
    expect(afterFailedLook('down', dead, RECONCILE)).toMatchObject({ status: 'unknown', lostAnswers: 1 });
  });

  test('gives up in time as an attempt does', () => {
    const limited = { ...RECONCILE, giveUpAfterMs: DAY_MS };
    const old = { sinceFirstSentMs: DAY_MS };
    expect(afterFailedLook('down', row(old), limited)).toMatchObject({ status: 'refused', code: 'gave_up' });
    const uncertain = row({ ...old, status: 'unknown', lostAnswers: 1 });
    expect(afterFailedLook('down', uncertain, limited)).toMatchObject({ status: 'parked', code: 'outcome_unknown' });
  });
});

import type { OperationAnswer, UnknownPolicy } from '../api/operations.js';
import { isSettledForRun, type OperationStatus } from '../domain/operation.js';
import type { PerformOperationResult } from '../domain/outcome.js';
import type { OperationRow } from './read-operation.js';
import { retryDelayMs, spreadOf } from './retry-delay.js';

/** Where a row goes after an attempt or a look. */
export interface Verdict {
  readonly status: OperationStatus;
  /** Why it is not confirmed; null when it is. */
  readonly code: string | null;
  /** The other side's ID of the effect, when it named one. */
  readonly reference: string | null;
  /** Until the next attempt, in milliseconds; 0 when there is none. */
  readonly delayMs: number;
  /** 1 when this attempt may have had an effect that nobody knows of. */
  readonly lostAnswers: 0 | 1;
}

/** How a kind's operations behave, with its functions asked and its defaults filled in. */
export interface OperationRules {
  readonly policy: UnknownPolicy;
  /** How long the other side honours a key, in milliseconds; 0 where it has none. */
  readonly keyTtlMs: number;
  /** In milliseconds since the first attempt; `Infinity` for never. */
  readonly giveUpAfterMs: number;
}

/** The attempt that an answer is for: its number and what lies behind it, as its begin stored them. */
export interface AttemptFacts {
  readonly attempt: number;
  readonly lostAnswers: number;
  readonly sinceFirstSentMs: number;
  readonly spread: number;
}

/** A key is trusted for this share of the time that the other side promises: 20 of 24 hours. */
const KEY_TRUST_SHARE = 5 / 6;

/** `resend` stops for an operator after this many lost answers: more would be a flood of copies, not a delivery. */
export const MAX_LOST_ANSWERS = 8;

/** The answer of an attempt was lost and the policy, the other side or time allow no further one. */
export const OUTCOME_UNKNOWN = 'outcome_unknown';

/** What an answer means for the row. Pure; the one place that knows what a lost answer does to later certainty. */
export function verdictOf(answer: OperationAnswer, facts: AttemptFacts, rules: OperationRules): Verdict {
  switch (answer.kind) {
    case 'confirmed':
      return confirmed(answer.reference ?? null);
    case 'refused':
      return afterRefusal(answer.code, facts, rules);
    case 'park':
      return stopped('parked', answer.code);
    case 'notSent':
      return afterNotSent(answer, facts, rules);
    case 'unknown':
      return afterLostAnswer(answer, facts, rules);
  }
}

export function confirmed(reference: string | null): Verdict {
  return { status: 'confirmed', code: null, reference, delayMs: 0, lostAnswers: 0 };
}

export function stopped(status: 'refused' | 'parked' | 'proposed', code: string, lostAnswers: 0 | 1 = 0): Verdict {
  return { status, code, reference: null, delayMs: 0, lostAnswers };
}

/** Not known yet; looked at or sent again after `delayMs`. */
export function stillUnknown(code: string, delayMs: number, lostAnswers: 0 | 1 = 0): Verdict {
  return { status: 'unknown', code, reference: null, delayMs, lostAnswers };
}

/** A look that failed: the row stays as uncertain as it was, and the look counts as an attempt. */
export function afterFailedLook(code: string, row: OperationRow, { giveUpAfterMs }: OperationRules): Verdict {
  const isOver = (row.sinceFirstSentMs ?? 0) >= giveUpAfterMs;
  const round = row.attempts + 1;
  const delayMs = retryDelayMs({ cause: 'not_sent', round, spread: spreadOf(row.idempotencyKey) });
  if (mayHaveHappened(row)) {
    return isOver ? stopped('parked', OUTCOME_UNKNOWN, lostNow(row)) : stillUnknown(code, delayMs, lostNow(row));
  }
  return isOver ? stopped('refused', 'gave_up') : { status: 'planned', code, reference: null, delayMs, lostAnswers: 0 };
}

/** Whether an attempt of this row's generation may have had an effect that nobody knows of. */
export function mayHaveHappened(row: OperationRow): boolean {
  return row.status !== 'planned' || row.lostAnswers > 0;
}

/** An attempt that is found in `sending` and cannot be alive any more is one whose answer was lost. */
export function lostNow(row: OperationRow): 0 | 1 {
  return row.status === 'sending' ? 1 : 0;
}

/**
 * Whether the other side still knows the key of attempts whose first went out this long ago. Counted from the first of
 * them all, effective or not: nobody knows which of them made it remember the key. Pure.
 */
export function isKeyTrusted({ keyTtlMs }: Pick<OperationRules, 'keyTtlMs'>, sinceFirstSentMs: number): boolean {
  return sinceFirstSentMs < keyTtlMs * KEY_TRUST_SHARE;
}

/**
 * Under one key that the other side still knows a refusal speaks for every attempt. Else it speaks for this attempt
 * only, and an earlier one whose answer was lost may have had its effect.
 */
function afterRefusal(code: string, facts: AttemptFacts, rules: OperationRules): Verdict {
  const speaksForAll = facts.lostAnswers === 0 || isKeyTrusted(rules, facts.sinceFirstSentMs);
  return speaksForAll ? stopped('refused', code) : stopped('parked', OUTCOME_UNKNOWN);
}

function afterNotSent(
  { code, retryAfterMs }: Extract<OperationAnswer, { kind: 'notSent' }>,
  { attempt, lostAnswers, sinceFirstSentMs, spread }: AttemptFacts,
  { giveUpAfterMs }: OperationRules,
): Verdict {
  if (sinceFirstSentMs >= giveUpAfterMs) {
    return lostAnswers === 0 ? stopped('refused', 'gave_up') : stopped('parked', OUTCOME_UNKNOWN);
  }
  const delayMs = retryDelayMs({ cause: 'not_sent', round: attempt, spread, retryAfterMs });
  // This attempt had no effect, which says nothing of an earlier one.
  const status = lostAnswers === 0 ? 'planned' : 'unknown';
  return { status, code, reference: null, delayMs, lostAnswers: 0 };
}

function afterLostAnswer(
  { code, retryAfterMs, configuration = false }: Extract<OperationAnswer, { kind: 'unknown' }>,
  facts: AttemptFacts,
  { policy, giveUpAfterMs }: OperationRules,
): Verdict {
  const round = facts.lostAnswers + 1;
  const isOver = facts.sinceFirstSentMs >= giveUpAfterMs || round >= MAX_LOST_ANSWERS;
  if (policy === 'hold' || (policy === 'resend' && isOver)) return stopped('parked', OUTCOME_UNKNOWN, 1);
  const retry = { spread: facts.spread, retryAfterMs };
  const delayMs =
    configuration && policy === 'reconcile'
      ? // Looked at before it is sent again, so it can be tried soon after somebody has mended it.
        retryDelayMs({ ...retry, cause: 'not_sent', round: facts.attempt })
      : retryDelayMs({ ...retry, cause: 'answer_lost', round });
  return stillUnknown(code, delayMs, 1);
}

/** What the workflow is told of a row that now stands like this. */
export function resultOf({ status, delayMs }: Pick<Verdict, 'status' | 'delayMs'>): PerformOperationResult {
  return isSettledForRun(status) ? { kind: 'settled', status } : { kind: 'again', status, delayMs };
}

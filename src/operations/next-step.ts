import type { OperationRow } from './read-operation.js';
import {
  MAX_LOST_ANSWERS,
  OUTCOME_UNKNOWN,
  isKeyTrusted,
  lostNow,
  mayHaveHappened,
  stillUnknown,
  stopped,
  type OperationRules,
  type Verdict,
} from './verdict.js';

export type DecidedStep =
  /** Not now; nothing is written. */
  | { readonly kind: 'again'; readonly delayMs: number }
  /** Nothing is sent; the row says so. */
  | { readonly kind: 'move'; readonly verdict: Verdict }
  | { readonly kind: 'send' };

/** `look`: ask the other side first. */
export type NextStep = DecidedStep | { readonly kind: 'look' };

export interface StepFacts {
  readonly rules: OperationRules;
  /** Whether the definition and the configuration still make this effect. */
  readonly enabled: boolean;
  /** Why an operator has to approve it first, as a code; `null` when nobody has to. */
  readonly heldBack: string | null;
  /** An attempt that began more recently than this, in milliseconds, may still be alive. */
  readonly leaseMs: number;
}

/** While an operator's brake is on, a run looks this often whether it still is, in milliseconds. */
const PAUSED_LOOK_MS = 300_000;

/** Between two looks for an effect that may still show, in milliseconds. */
const NEXT_LOOK_MS = 300_000;

/** How long a request without a key may still take effect after it was sent, in milliseconds. */
const LATE_EFFECT_MS = 3_600_000;

/** What a run does with an operation that is `planned`, `sending` or `unknown`. Pure. */
export function nextStep(row: OperationRow, { rules, enabled, heldBack, leaseMs }: StepFacts): NextStep {
  const sinceLastSentMs = row.sinceLastSentMs ?? Infinity;
  if (row.status === 'sending' && sinceLastSentMs < leaseMs) {
    // An earlier attempt may be at work: a second one beside it could only add doubt.
    return { kind: 'again', delayMs: Math.ceil(leaseMs - sinceLastSentMs) };
  }
  if (!enabled) return move(mayHaveHappened(row) ? parkAsUnknown(row) : stopped('refused', 'switched_off'));
  if (heldBack !== null) return move(stopped('proposed', heldBack));
  if (row.paused) return { kind: 'again', delayMs: PAUSED_LOOK_MS };
  switch (rules.policy) {
    case 'hold':
      return row.status === 'planned' ? { kind: 'send' } : move(parkAsUnknown(row));
    case 'resend':
      return mayResend(row, rules) ? { kind: 'send' } : move(parkAsUnknown(row));
    case 'reconcile':
      return { kind: 'look' };
  }
}

/**
 * A kind without a key takes copies for granted. With one, a send that the other side cannot recognize any more would be
 * a second effect. What cannot have happened is sent for the first time, however old it is. Pure.
 */
function mayResend(row: OperationRow, rules: OperationRules): boolean {
  if (row.lostAnswers + lostNow(row) >= MAX_LOST_ANSWERS) return false;
  if (!mayHaveHappened(row) || rules.keyTtlMs === 0) return true;
  return isKeyTrusted(rules, row.sinceFirstSentMs ?? 0);
}

/**
 * What to do when the other side was asked and has nothing. An attempt of ours may still be on its way there: the same
 * key makes a further send harmless while it is honoured; after that only time shows, and at last an operator. Pure.
 */
export function stepAfterAbsence(row: OperationRow, rules: OperationRules): DecidedStep {
  if (!mayHaveHappened(row) || isKeyTrusted(rules, row.sinceFirstSentMs ?? 0)) return { kind: 'send' };
  if ((row.sinceLastSentMs ?? 0) < Math.max(rules.keyTtlMs, LATE_EFFECT_MS)) {
    return move(stillUnknown('effect_absent', NEXT_LOOK_MS, lostNow(row)));
  }
  return move(parkAsUnknown(row));
}

function parkAsUnknown(row: OperationRow): Verdict {
  return stopped('parked', OUTCOME_UNKNOWN, lostNow(row));
}

function move(verdict: Verdict): DecidedStep {
  return { kind: 'move', verdict };
}

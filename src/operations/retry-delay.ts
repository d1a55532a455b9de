/** Why an operation is tried again. `answer_lost` is slower: each further send may be one copy more. */
export type RetryCause = 'not_sent' | 'answer_lost';

interface Backoff {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs: number;
}

/**
 * - `not_sent`: doubling, so that after an outage the wait is at most as long again, and never over 10 min.
 * - `answer_lost`: 5 s covers a connection cut by chance; the fifth lost answer in a row is no chance, and costs hours.
 */
const BACKOFF: Readonly<Record<RetryCause, Backoff>> = {
  not_sent: { firstMs: 2_000, factor: 2, maxMs: 600_000 },
  answer_lost: { firstMs: 5_000, factor: 4, maxMs: 6 * 3_600_000 },
};

/** The other side may ask for patience, but not hide an operation for days. */
const MAX_RETRY_AFTER_MS = 6 * 3_600_000;

/** Up to this share is taken off, so that operations which failed together do not all come back together. */
const SPREAD_SHARE = 0.25;

export interface Retry {
  readonly cause: RetryCause;
  /** How often it happened to this operation, from 1. */
  readonly round: number;
  /** 0 to 1, the same for every attempt of one operation; see `spreadOf`. */
  readonly spread: number;
  /** What the other side asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** How long an operation waits before its next attempt, in whole milliseconds. */
export function retryDelayMs({ cause, round, spread, retryAfterMs = 0 }: Retry): number {
  const { firstMs, factor, maxMs } = BACKOFF[cause];
  const grown = Math.min(firstMs * factor ** Math.max(round - 1, 0), maxMs);
  // A kind's own number, so it may be none at all.
  const asked = Number.isFinite(retryAfterMs) ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) : 0;
  return Math.round(Math.max(grown * (1 - SPREAD_SHARE * spread), asked));
}

/** A number from 0 to 1 out of a derived idempotency key, whose first 40 hex digits are a hash. */
export function spreadOf(idempotencyKey: string): number {
  const digits = /[0-9a-f]{4}/.exec(idempotencyKey)?.[0] ?? '0000';
  return parseInt(digits, 16) / 0xffff;
}

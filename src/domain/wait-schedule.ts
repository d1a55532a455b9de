/** How long an event waits for what it stands on; all in milliseconds. */
export interface WaitPolicy {
  readonly firstWaitMs: number;
  readonly maxWaitMs: number;
  /** From the first wait to the decision that it will not come. */
  readonly horizonMs: number;
}

/** Waits grow steeply: most races end in seconds, and an hour of waiting should cost few rounds. */
const MULTIPLES = [1, 6, 24, 120];

/** A round that would start this soon is joined with the next; also the engine's own floor for timers. */
const SHORTEST_WAIT_MS = 1_000;

/**
 * The next wait of an event that has waited `elapsedMs` since it first had to: to the next of a few fixed looks
 * (`firstWait` times 1, 6, 24, 120, each at most `maxWait`), the last of them at the horizon. A function of the time
 * alone, so a run that was lost and started again goes on where the first one was.
 * @returns milliseconds, or `null` when the horizon is reached.
 */
export function nextWaitMs(policy: WaitPolicy, elapsedMs: number): number | null {
  if (elapsedMs >= policy.horizonMs) return null;
  let look = 0;
  for (const multiple of MULTIPLES) {
    look += Math.min(policy.firstWaitMs * multiple, policy.maxWaitMs);
    if (look >= policy.horizonMs) break;
    if (look - elapsedMs >= SHORTEST_WAIT_MS) return look - elapsedMs;
  }
  return Math.max(policy.horizonMs - elapsedMs, SHORTEST_WAIT_MS);
}

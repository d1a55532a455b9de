import type { Logger } from './logger.js';
import type { Metrics } from './metrics.js';

/** Trouble of this length is no blip: somebody should look. */
const ALARM_AFTER_MS = 10 * 60_000;
/** How often the alarm is repeated while it lasts. */
const REPEAT_AFTER_MS = 60_000;

/** Watches how long the infrastructure under a worker's activities has failed without a success in between. */
export interface TroubleWatch {
  failed(): void;
  succeeded(): void;
}

/** @param now a clock that only goes forward, in milliseconds. */
export function createTroubleWatch(
  log: Logger,
  metrics: Pick<Metrics, 'infrastructureTroubleSeconds'>,
  now: () => number = () => performance.now(),
): TroubleWatch {
  let since: number | null = null;
  let alarmedAt: number | null = null;
  return {
    failed: () => {
      since ??= now();
      const lastedMs = now() - since;
      metrics.infrastructureTroubleSeconds.set(Math.round(lastedMs / 1_000));
      if (lastedMs < ALARM_AFTER_MS || (alarmedAt !== null && now() - alarmedAt < REPEAT_AFTER_MS)) return;
      alarmedAt = now();
      log.error(
        { minutes: Math.floor(lastedMs / 60_000) },
        'what the activities stand on has failed for over 10 minutes; events wait and nothing is lost',
      );
    },
    succeeded: () => {
      if (since === null) return;
      since = null;
      alarmedAt = null;
      metrics.infrastructureTroubleSeconds.set(0);
    },
  };
}

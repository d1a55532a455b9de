import type { Logger } from '../observability/logger.js';
import type { Sweeper } from './sweeper.js';

export interface SweepLoopOptions {
  readonly sweeper: Sweeper;
  /** The configured pace of one worker; the sweeper takes half of it and leaves the rest to fresh events. */
  readonly startsPerSecond: number;
  readonly log: Logger;
}

export interface SweepLoop {
  /** Resolves when the look under way is finished; may be called twice. */
  readonly stop: () => Promise<void>;
}

const INTERVAL_MS = 1_000;

/** Looks once a second. While Temporal does not answer it tries a single row, so that claims are not churned. */
export function startSweepLoop({ sweeper, startsPerSecond, log }: SweepLoopOptions): SweepLoop {
  const full = Math.max(1, Math.floor(startsPerSecond / 2));
  const stopping = new AbortController();
  const running = (async () => {
    let limit = full;
    while (!stopping.signal.aborted) {
      const begun = performance.now();
      limit = await sweep(sweeper, limit, full, log);
      await pause(INTERVAL_MS - (performance.now() - begun), stopping.signal);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

/** @returns how many rows the next look may claim. */
async function sweep(sweeper: Sweeper, limit: number, full: number, log: Logger): Promise<number> {
  try {
    const counts = await sweeper.runOnce(limit);
    if (counts.events + counts.operations === 0) return limit;
    log.info({ ...counts }, 'swept');
    return counts.returned > 0 ? 1 : full;
  } catch (error) {
    log.warn({ err: error }, 'sweep failed; looking again');
    return limit;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, ms));
    signal.addEventListener('abort', done);
  });
}

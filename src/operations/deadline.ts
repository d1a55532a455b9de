import { performance } from 'node:perf_hooks';
import { DeadlineError } from '../errors.js';

/** One attempt's time. Counted by this process's monotonic clock, so a step of the wall clock changes nothing. */
export interface Deadline {
  /** Aborted when the time is up. */
  readonly signal: AbortSignal;
  /** Whether it is, also when this process was stopped or blocked and no timer could fire. */
  readonly isOver: () => boolean;
  /**
   * The work's own end if it comes within the grace after the abort.
   * @throws DeadlineError when it does not; its late end is of no interest to anybody.
   */
  readonly race: <Result>(work: Promise<Result>) => Promise<Result>;
  /** Frees the timers. */
  readonly release: () => void;
}

export function startDeadline(limitMs: number, graceMs: number): Deadline {
  const controller = new AbortController();
  const endsAt = performance.now() + limitMs;
  const abortTimer = setTimeout(() => {
    controller.abort(new DeadlineError(`no answer within ${limitMs} ms`));
  }, limitMs);
  let graceTimer: NodeJS.Timeout | undefined;
  const graceOver = new Promise<never>((_resolve, reject) => {
    graceTimer = setTimeout(() => {
      reject(new DeadlineError(`no end within ${graceMs} ms of being told to stop`));
    }, limitMs + graceMs);
  });
  // Nobody may be racing when it fires.
  graceOver.catch(() => undefined);
  return {
    signal: controller.signal,
    isOver: () => performance.now() >= endsAt,
    race: (work) => {
      work.catch(() => undefined);
      return Promise.race([work, graceOver]);
    },
    release: () => {
      clearTimeout(abortTimer);
      clearTimeout(graceTimer);
    },
  };
}

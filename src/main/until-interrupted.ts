import { CommandError } from '../errors.js';
import { EXIT } from './exit-codes.js';

/** Ends work at SIGINT and SIGTERM, and when code that nobody awaits throws. */
export interface Interruption {
  readonly signal: AbortSignal;
  /** The work's result, or the interruption's error as soon as there is one, whatever the work does then. */
  readonly of: <Result>(work: Promise<Result>) => Promise<Result>;
}

/**
 * Runs `body`, which cleans up after itself when it is interrupted. A second signal ends the process at once, for whoever
 * has lost patience.
 */
export async function untilInterrupted<Result>(body: (interruption: Interruption) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const { signal } = controller;
  const end = (how: 'interrupted' | 'terminated', says: string) => (): void => {
    if (signal.aborted) process.exit(EXIT[how]);
    controller.abort(new CommandError(how, says));
  };
  const stray = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    controller.abort(new CommandError('usage', `Code that nobody awaits failed: ${text}`, { cause: error }));
  };
  const listeners = [
    ['SIGINT', end('interrupted', 'Interrupted')],
    ['SIGTERM', end('terminated', 'Terminated')],
    // Rejections that nobody handles come this way, too.
    ['uncaughtException', stray],
  ] as const;
  for (const [event, listener] of listeners) process.on(event, listener);
  try {
    return await body({ signal, of: (work) => orAborted(work, signal) });
  } finally {
    for (const [event, listener] of listeners) process.off(event, listener);
  }
}

function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      // The reason is always one of the errors above.
      reject(signal.reason as Error);
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', stop);
    });
  });
}

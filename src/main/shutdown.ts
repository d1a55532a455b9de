import type { Logger } from '../observability/logger.js';

/** Something that was started and can be stopped; stopping is finished when the promise is. */
export interface Stoppable {
  readonly name: string;
  stop(): Promise<void>;
}

/**
 * Resolves at the first SIGINT or SIGTERM. A second one while stopping ends the process at once, for whoever has lost
 * patience.
 */
export function untilAskedToStop(log: Logger): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const ask = (signal: NodeJS.Signals): void => {
      if (asked) process.exit(1);
      asked = true;
      log.info({ signal }, 'stopping');
      resolve();
    };
    process.on('SIGINT', ask);
    process.on('SIGTERM', ask);
  });
}

/** Stops what was started, newest first; one that fails is logged and does not keep the others running. */
export async function stopAll(parts: readonly Stoppable[], log: Logger): Promise<void> {
  for (const part of [...parts].reverse()) {
    await part.stop().catch((error: unknown) => {
      log.error({ err: error, part: part.name }, 'a part did not stop cleanly');
    });
  }
}

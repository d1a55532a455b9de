import type { Logger } from '../observability/logger.js';

/** Something that was started and can be stopped; stopping is finished when the promise is. */
export interface Stoppable {
  readonly name: string;
  stop(): Promise<void>;
}

/** Stops what was started, newest first; one that fails is logged and does not keep the others running. */
export async function stopAll(parts: readonly Stoppable[], log: Logger): Promise<void> {
  for (const part of [...parts].reverse()) {
    await part.stop().catch((error: unknown) => {
      log.error({ err: error, part: part.name }, 'a part did not stop cleanly');
    });
  }
}

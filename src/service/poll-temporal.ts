import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../observability/logger.js';
import type { RunningWorker } from '../temporal/create-worker.js';

const CONNECT_PAUSE_MS = 1_000;

export interface PollOptions {
  /** Connects and builds the worker; tried again until it does. */
  readonly create: () => Promise<RunningWorker>;
  readonly log: Logger;
  /** Aborted when the worker is to finish what it has begun and end. */
  readonly signal: AbortSignal;
  readonly onReady: () => void;
}

/**
 * Polls until it is told to end. Temporal that is down at start is waited for: the sweeper has nothing to start it
 * with either.
 * @throws what ended the worker, when that was not the signal.
 */
export async function pollTemporal({ create, log, signal, onReady }: PollOptions): Promise<void> {
  const worker = await connected(create, log, signal);
  if (worker === undefined) return;
  try {
    onReady();
    const running = worker.run();
    const asked = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => {
        resolve();
      });
    });
    await Promise.race([running, asked]);
    worker.shutdown();
    await running;
  } finally {
    await worker.close();
  }
}

async function connected(
  create: () => Promise<RunningWorker>,
  log: Logger,
  signal: AbortSignal,
): Promise<RunningWorker | undefined> {
  for (let said = false; !signal.aborted; said = true) {
    try {
      return await create();
    } catch (error) {
      if (!said)
        log.warn({ err: error }, 'waiting: Temporal does not answer; is it running, and is TEMPORAL_ADDRESS right?');
      await sleep(CONNECT_PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  return undefined;
}

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
 * @throws what ended the worker, when that was not the signal, and what no waiting would mend.
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
    // Temporal's runtime listens for signals by itself, whatever an application does with them.
    if (!signal.aborted) log.warn("worker ended unasked: Temporal's runtime takes SIGINT, SIGTERM and SIGQUIT");
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
      if (!isConnectionTrouble(error)) throw error;
      if (!said) log.warn({ err: error }, `waiting: ${whatToLookAt(error)}`);
      await sleep(CONNECT_PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  return undefined;
}

/** By its name, so that code which only receives need not load the SDK's native part. */
function isConnectionTrouble(error: unknown): error is Error {
  return error instanceof Error && error.name === 'TransportError';
}

/** The SDK tells a missing namespace by the text only. */
function whatToLookAt({ message }: Error): string {
  return /^Namespace \S+ was not found/.test(message)
    ? 'Temporal has no such namespace; is TEMPORAL_NAMESPACE right?'
    : 'Temporal does not answer; is it running, and is TEMPORAL_ADDRESS right?';
}

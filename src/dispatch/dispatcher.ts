import type { CheckpointHook } from '../checkpoints.js';
import type { ProcessWebhookEventInput } from '../domain/event.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';

export interface DispatcherOptions {
  readonly startEvent: (event: ProcessWebhookEventInput) => Promise<void>;
  readonly checkpoints: CheckpointHook;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Starts in flight at once. What does not fit waits here a little, and beyond that is the sweeper's. */
const MAX_IN_FLIGHT = 32;
const MAX_WAITING = 500;

/** Starts workflows after the commit, without anybody waiting for it. */
export interface Dispatcher {
  /** Never throws and never blocks; a start that fails or does not fit is left to the sweeper. */
  dispatch(event: ProcessWebhookEventInput): void;
  /** Waits for the starts in flight; what has not begun is left to the sweeper. */
  stop(): Promise<void>;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { metrics } = options;
  const waiting: ProcessWebhookEventInput[] = [];
  const inFlight = new Set<Promise<void>>();
  let stopped = false;

  const pump = (): void => {
    while (!stopped && inFlight.size < MAX_IN_FLIGHT) {
      const event = waiting.shift();
      if (event === undefined) return;
      const start = startOne(options, event).finally(() => {
        inFlight.delete(start);
        pump();
      });
      inFlight.add(start);
    }
  };

  return {
    dispatch: (event) => {
      if (stopped || waiting.length >= MAX_WAITING) {
        metrics.starts.inc({ by: 'receiver', result: 'skipped' });
        return;
      }
      waiting.push(event);
      pump();
    },
    stop: async () => {
      stopped = true;
      await Promise.all(inFlight);
    },
  };
}

async function startOne(
  { startEvent, checkpoints, log, metrics }: DispatcherOptions,
  event: ProcessWebhookEventInput,
): Promise<void> {
  const { scope, eventId } = event;
  try {
    await checkpoints('dispatch.before-start');
    await startEvent(event);
    await checkpoints('dispatch.after-start');
    metrics.starts.inc({ by: 'receiver', result: 'started' });
  } catch (error) {
    metrics.starts.inc({ by: 'receiver', result: 'failed' });
    log.debug({ scope, eventId, err: error }, 'workflow not started; the sweeper will');
  }
}

import type { Metrics } from '../observability/metrics.js';
import { commitBatch, type CommitBatchOptions, type InsertResult } from './commit-batch.js';
import { keyText, type NewEvent } from './new-event.js';

/** Commits events for many requests at once. */
export interface InsertBatcher {
  /** Never throws, and answers within 5 seconds. */
  insert(event: NewEvent): Promise<InsertResult>;
  /** Resolves once nothing waits and nothing is in flight. */
  drained(): Promise<void>;
}

export interface InsertBatcherOptions extends CommitBatchOptions {
  /** Batches in flight at once; fewer than the pool's size, so that health checks find a connection. */
  readonly maxInFlight: number;
  readonly metrics: Pick<Metrics, 'insertBatchRows'>;
}

/** From a request's arrival here to its answer, whatever the database does: a little under the 5 s that are promised. */
const DEADLINE_MS = 4_900;
/** How long a request waits for a batch to be sent, in milliseconds; what waits longer comes back by itself. */
const MAX_QUEUE_MS = 1_500;

const MAX_BATCH_ROWS = 100;
const MAX_BATCH_CHARACTERS = 4 * 1024 * 1024;

interface Waiting {
  readonly event: NewEvent;
  readonly since: number;
  readonly settle: (result: InsertResult) => void;
}

/**
 * Requests that wait while every batch slot is in use go together in the next batch, so batches grow with the load and
 * a lone request never waits for company. Several batches are in flight, so that one that is stuck on a lock does not
 * hold the others; a request whose key is already in flight waits for that batch instead of getting stuck behind it.
 */
export function createInsertBatcher(options: InsertBatcherOptions): InsertBatcher {
  const queue = new Set<Waiting>();
  const keysInFlight = new Set<string>();
  const whenDrained: (() => void)[] = [];
  let inFlight = 0;
  let scheduled = false;

  const isDrained = (): boolean => inFlight === 0 && queue.size === 0;

  // Not at once: requests whose bodies ended in this turn of the event loop may as well share a commit.
  const schedule = (): void => {
    if (scheduled || inFlight >= options.maxInFlight) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      sendBatches();
    });
  };

  const sendBatches = (): void => {
    while (inFlight < options.maxInFlight) {
      const batch = takeBatch(queue, keysInFlight);
      if (batch.length === 0) break;
      void send(batch);
    }
    if (isDrained()) whenDrained.splice(0).forEach((resolve) => { resolve(); }); // prettier-ignore
  };

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    const keys = new Set(batch.map(({ event }) => keyText(event)));
    inFlight += 1;
    keys.forEach((key) => keysInFlight.add(key));
    options.metrics.insertBatchRows.observe(batch.length);
    const deadline = Math.min(...batch.map(({ since }) => since)) + DEADLINE_MS;
    const results = await commitBatch(
      batch.map(({ event }) => event),
      deadline,
      options,
    );
    keys.forEach((key) => keysInFlight.delete(key));
    inFlight -= 1;
    batch.forEach(({ settle }, index) => {
      settle(results[index] ?? 'unavailable');
    });
    schedule();
  };

  return {
    insert: (event) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          if (queue.delete(waiting)) waiting.settle('unavailable');
        }, MAX_QUEUE_MS);
        const settle = (result: InsertResult): void => {
          clearTimeout(timer);
          resolve(result);
        };
        const waiting: Waiting = { event, since: performance.now(), settle };
        queue.add(waiting);
        schedule();
      }),
    drained: () =>
      new Promise((resolve) => {
        whenDrained.push(resolve);
        schedule();
      }),
  };
}

/** Takes from the queue, in order, what fits into one statement; a single event always fits. */
function takeBatch(queue: Set<Waiting>, keysInFlight: ReadonlySet<string>): Waiting[] {
  const batch: Waiting[] = [];
  let characters = 0;
  for (const waiting of queue) {
    if (batch.length === MAX_BATCH_ROWS) break;
    if (keysInFlight.has(keyText(waiting.event))) continue;
    characters += waiting.event.payloadText.length;
    if (batch.length > 0 && characters > MAX_BATCH_CHARACTERS) break;
    batch.push(waiting);
  }
  for (const waiting of batch) queue.delete(waiting);
  return batch;
}

import { randomBytes } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { z } from 'zod';
import type { ApplySource } from '../../activities/apply-event.js';
import { inertCheckpoints } from '../../src/checkpoints.js';
import { createPool } from '../../src/db/pool.js';
import { workflowIdForEvent } from '../../src/domain/event.js';
import type { FetchReference } from '../../src/domain/outcome.js';
import type { WaitPolicy } from '../../src/domain/wait-schedule.js';
import { ordersHandlers } from '../../src/handlers/orders/index.js';
import { defineOperation, type FetchedObject, type HandlerSet } from '../../src/index.js';
import { createLogger } from '../../src/observability/logger.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { NO_BRAKE } from '../../src/operations/brake.js';
import { createOperationRegistry } from '../../src/operations/registry.js';
import { sha256Hex } from '../../src/sha256.js';
import { readThinEvent } from '../../src/providers/stripe-thin-event.js';
import { createWorkflowStarts, type WorkflowStarts } from '../../src/temporal/workflow-starts.js';
import { createWorkerActivities } from '../../src/worker.js';
import type { TestDatabase } from './database.js';
import { ORDERS } from './order-options.js';
import { startTemporalWorker } from './running-worker.js';
import { storeVerified } from './store-verified.js';
import { bundledWorkflows } from './workflow-bundle.js';

export const SCOPE = 'stripe:acct_test:test';

export interface CoreWorker {
  readonly client: Client;
  readonly starts: WorkflowStarts;
  readonly taskQueue: string;
  /** Operation keys whose effect was made, in order; one entry per call. */
  readonly performed: readonly string[];
  readonly handle: (eventId: string) => WorkflowHandle;
  stop(): Promise<void>;
}

export interface CoreWorkerOptions {
  /** Instead of one source `stripe` and what follows of it. */
  readonly sources?: ReadonlyMap<string, ApplySource>;
  readonly handlers?: HandlerSet;
  readonly wait?: WaitPolicy;
  readonly admit?: ApplySource['admit'];
  readonly fetch?: (scope: string, reference: FetchReference) => Promise<FetchedObject>;
}

/** Shorter than a user's, so that a whole wait fits into a test; Temporal's own floor is one second. */
const SHORT_WAITS: WaitPolicy = { firstWaitMs: 1_000, maxWaitMs: 2_000, horizonMs: 3_000 };

/**
 * A worker with our workflows and activities on a real database and server, and effects that only count. Without receiver and sweeper: what a test starts is what runs.
 */
export async function startCoreWorker(database: TestDatabase, options: CoreWorkerOptions = {}): Promise<CoreWorker> {
  const taskQueue = `test-${randomBytes(6).toString('hex')}`;
  const log = createLogger('silent', 'test');
  const pool = createPool({
    url: database.url,
    applicationName: 'core worker under test',
    max: 10,
    statementTimeoutMs: 6_000,
    lockTimeoutMs: 3_000,
    log,
  });
  const performed: string[] = [];
  const activities = createWorkerActivities({
    pool,
    sources: options.sources ?? new Map([['stripe', stripeSource(options)]]),
    registry: createOperationRegistry(
      ['email', 'refund', 'cancel_payment_intent'].map((kind) => countingEffect(kind, performed)),
    ),
    brakeOf: () => NO_BRAKE,
    wait: options.wait ?? SHORT_WAITS,
    searchAttributes: () => true,
    checkpoints: inertCheckpoints,
    log,
    metrics: createMetrics(),
  });
  const worker = await startTemporalWorker({
    taskQueue,
    activities,
    workflowBundle: await bundledWorkflows(),
    // Tests ask runs right after their workers changed; the default would make each such question cost 10 s.
    stickyQueueScheduleToStartTimeout: '1 second',
  });
  const { client } = worker;
  return {
    client,
    taskQueue,
    performed,
    starts: createWorkflowStarts({ client, taskQueue, deadlineMs: 10_000 }),
    handle: (eventId) => client.workflow.getHandle(workflowIdForEvent({ scope: SCOPE, eventId }, sha256Hex)),
    stop: async () => {
      await worker.stop();
      await pool.end();
    },
  };
}

function stripeSource(options: CoreWorkerOptions): ApplySource {
  return {
    handlers: options.handlers ?? ordersHandlers(ORDERS),
    admit: options.admit ?? (() => ({ kind: 'tenant', tenant: 'default' })),
    activeFrom: null,
    readReference: readThinEvent,
    fetch: options.fetch ?? (() => Promise.resolve({ kind: 'unavailable' })),
  };
}

function countingEffect(kind: string, performed: string[]): ReturnType<typeof defineOperation> {
  return defineOperation({
    kind,
    params: z.looseObject({ to: z.string().optional() }),
    perform: (attempt) => {
      performed.push(attempt.operationKey);
      return Promise.resolve({ kind: 'confirmed' });
    },
    classify: () => ({ kind: 'unknown', code: 'threw' }),
    onUnknown: 'resend',
  });
}

export interface StoredEvent {
  readonly eventId: string;
  readonly eventType: string;
}

/** Puts a verified event into the inbox as a receiver would have, started by nobody. */
export async function storeEvent(
  database: TestDatabase,
  event: { readonly id: string; readonly type: string; readonly snapshot_event?: string },
  text = JSON.stringify(event),
): Promise<StoredEvent> {
  await storeVerified(database, SCOPE, event, text);
  return { eventId: event.id, eventType: event.type };
}

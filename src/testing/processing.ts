import type { Pool } from 'pg';
import { applyEvent, type ApplyEventDeps } from '../../activities/apply-event.js';
import { createPerformOperation } from '../../activities/perform-operation.js';
import { quarantineEvent } from '../../activities/quarantine-event.js';
import type { FetchedObject, HandlerSet } from '../api/handlers.js';
import type { AnyOperationDefinition } from '../api/operations.js';
import { inertCheckpoints, type CheckpointHook } from '../checkpoints.js';
import { errorKind } from '../db/error-kinds.js';
import type { EventKey } from '../domain/event.js';
import { isSettledForRun, type OperationStatus } from '../domain/operation.js';
import type { ApplyEventResult, FetchReference } from '../domain/outcome.js';
import type { WaitPolicy } from '../domain/wait-schedule.js';
import { HandlerDefectError } from '../errors.js';
import { recordDefect } from '../inbox/finish-event.js';
import { insertEvents } from '../inbox/insert-events.js';
import type { StoredResult } from '../inbox/new-event.js';
import { createLogger } from '../observability/logger.js';
import { createMetrics } from '../observability/metrics.js';
import { NO_BRAKE, type Brake } from '../operations/brake.js';
import { findOperationsOfEvent } from '../operations/find-operations.js';
import { createPlanner } from '../operations/plan-operations.js';
import { createOperationRegistry } from '../operations/registry.js';
import { newEventOf, type CompleteEvent } from './test-event.js';

export interface ProcessingOptions {
  /** Through which events are applied; what crashes and interleaves works on it. */
  readonly applyPool: Pool;
  /** Everything else. */
  readonly pool: Pool;
  /** The configured name of the source that events come from. */
  readonly source: string;
  readonly tenant: string;
  readonly handlers: HandlerSet;
  readonly operations: readonly AnyOperationDefinition[];
  readonly fetch: (reference: FetchReference) => FetchedObject | Promise<FetchedObject>;
  readonly brakeOf?: (kind: string) => Brake;
  readonly checkpoints?: CheckpointHook;
}

/** What became of an event, and the last error of a handler that threw on the way. */
export interface Applied {
  readonly result: ApplyEventResult;
  readonly defect: unknown;
}

/** The work of a worker for events and operations, one call at a time and without Temporal. */
export interface Processing {
  readonly store: (event: CompleteEvent) => Promise<StoredResult>;
  /** Applies the event as its workflow does: trouble of the infrastructure is repeated, the fifth defect quarantines. */
  readonly apply: (key: EventKey) => Promise<Applied>;
  /** Lets this much time pass for everything that waits, in milliseconds. */
  readonly age: (ms: number) => Promise<void>;
  /** Performs an operation until a run would have nothing more to do for it, letting the time between attempts pass. */
  readonly perform: (operationKey: string) => Promise<OperationStatus | undefined>;
}

/** As the workflow counts; see workflows/process-webhook-event.ts. */
const MAX_DEFECTS = 5;

/** A worker repeats without bound. In a test nothing comes back by itself that stays away this often. */
const MAX_INFRASTRUCTURE_ERRORS = 10;

/** An operation that is not settled after this many attempts is left as it stands. */
const MAX_ATTEMPTS = 20;

/** Short waits with the usual shape; what waits is run again on demand, or its time is made to pass. */
const WAIT: WaitPolicy = { firstWaitMs: 5_000, maxWaitMs: 600_000, horizonMs: 3_600_000 };

export function createProcessing(options: ProcessingOptions): Processing {
  const { pool, brakeOf = () => NO_BRAKE, checkpoints = inertCheckpoints } = options;
  const registry = createOperationRegistry(options.operations);
  const metrics = createMetrics();
  const log = createLogger('silent', 'testing');
  const deps: ApplyEventDeps = {
    pool: options.applyPool,
    sources: new Map([
      [
        options.source,
        {
          handlers: options.handlers,
          admit: () => ({ kind: 'tenant', tenant: options.tenant }),
          activeFrom: null,
          fetch: async (_scope, reference) => options.fetch(reference),
        },
      ],
    ]),
    wait: WAIT,
    plan: createPlanner({ registry, modeOf: (kind) => brakeOf(kind).mode }),
    operationsOf: findOperationsOfEvent,
    searchAttributes: () => false,
    checkpoints: inertCheckpoints,
    metrics,
  };
  const performOnce = createPerformOperation({ pool, registry, brakeOf, checkpoints, metrics, log });

  return {
    store: async (event) => (await insertEvents(pool, [newEventOf(event, options.source)]))[0] ?? 'duplicate',
    apply: (key) => applyUntilAnswered(deps, pool, key),
    age: (ms) => ageWaiting(pool, ms),
    perform: async (operationKey) => {
      for (let attempt = 1; ; attempt += 1) {
        const result = await performOnce({ operationKey });
        if (result.kind === 'missing') return undefined;
        if (result.kind === 'settled' || attempt === MAX_ATTEMPTS) return result.status;
        await ageOperation(pool, operationKey, result.delayMs);
      }
    },
  };
}

async function applyUntilAnswered(deps: ApplyEventDeps, pool: Pool, key: EventKey): Promise<Applied> {
  let defect: unknown = null;
  let troubles = 0;
  for (let defects = 0; defects < MAX_DEFECTS;) {
    try {
      return { result: await applyEvent(deps, { ...key, defects, replay: null }), defect };
    } catch (error) {
      if (errorKind(error) === 'infrastructure') {
        troubles += 1;
        if (troubles > MAX_INFRASTRUCTURE_ERRORS) throw error;
        continue;
      }
      defect = error;
      // A handler that hangs would cost its whole time limit five times over.
      defects = isTimeout(error) ? MAX_DEFECTS : defects + 1;
      const text = error instanceof Error ? error.message : String(error);
      await recordDefect(pool, key, { text, delayMs: 0 });
    }
  }
  const input = { ...key, reason: 'handler_error', replay: null };
  return { result: await quarantineEvent({ ...deps, pool }, input), defect };
}

function isTimeout(error: unknown): boolean {
  return error instanceof HandlerDefectError && error.code === 'handler_timeout';
}

async function ageWaiting(pool: Pool, ms: number): Promise<void> {
  await pool.query(
    `update oncehook.webhook_inbox
        set received_at = received_at - $1 * interval '1 millisecond',
            waiting_since = waiting_since - $1 * interval '1 millisecond'
      where status = 'pending'`,
    [ms],
  );
}

/** Makes an operation's sends as much older as would have passed had anybody waited, in milliseconds. */
export async function ageOperation(pool: Pool, operationKey: string, ms: number): Promise<void> {
  await pool.query(
    `update oncehook.operations
        set first_sent_at = first_sent_at - $2 * interval '1 millisecond',
            last_sent_at = last_sent_at - $2 * interval '1 millisecond'
      where operation_key = $1`,
    [operationKey, ms],
  );
}

/** An operation as a test sees it. */
export interface OperationView {
  readonly key: string;
  readonly kind: string;
  readonly params: unknown;
  readonly status: OperationStatus;
  /** Why it is not confirmed, as a code. */
  readonly reason: string | null;
  readonly attempts: number;
}

export async function readOperations(pool: Pool, event: EventKey | null = null): Promise<readonly OperationView[]> {
  const { rows } = await pool.query<OperationView>(
    `select operation_key as key, kind, params, status, last_error as reason, attempts
       from oncehook.operations
      where $1::text is null or (source_scope = $1 and event_id = $2)
      order by operation_key collate "C"`,
    [event?.scope ?? null, event?.eventId ?? null],
  );
  return rows;
}

/** Performs what is still to be done of all operations. */
export async function performAll(processing: Processing, pool: Pool): Promise<void> {
  for (const { key, status } of await readOperations(pool)) {
    if (!isSettledForRun(status)) await processing.perform(key);
  }
}

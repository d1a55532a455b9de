import { quarantineEvent } from '../../activities/quarantine-event.js';
import type { Activities } from '../../activities/index.js';
import type { AnyOperationDefinition, HandlerSet } from '../api/index.js';
import { requireDatabaseUrl } from '../config/index.js';
import { createPool } from '../db/pool.js';
import { startSweepLoop } from '../maintenance/sweep-loop.js';
import { createSweeper } from '../maintenance/sweeper.js';
import { claimDueOperations, returnOperations } from '../operations/claim-due.js';
import { createOperationRegistry } from '../operations/registry.js';
import { failedTaskAttempts, terminateRun } from '../temporal/stuck-runs.js';
import { watchSearchAttributes } from '../temporal/watch-search-attributes.js';
import { createWorkflowStarts, isUnanswered } from '../temporal/workflow-starts.js';
import { createWorkerActivities } from '../worker.js';
import { untilDatabaseReady } from './database-gate.js';
import { effectBrakes } from './effect-brakes.js';
import { operationKinds } from './operation-kinds.js';
import type { ServiceContext } from './receiver-service.js';
import { stopAll, type Stoppable } from './stoppable.js';
import { builtInHandlerSets, workerSources } from './worker-sources.js';

export interface WorkerServiceOptions extends ServiceContext {
  /** An application's own, besides the built-in ones. */
  readonly handlerSets: ReadonlyMap<string, HandlerSet>;
  /** An application's own; one of them may have the name of a built-in kind and takes its place. */
  readonly operations: readonly AnyOperationDefinition[];
}

export interface WorkerService {
  readonly activities: Activities;
  /**
   * Waits until the database answers and its schema fits, then starts the sweeper; once, however often it is called.
   * @param signal aborted when nobody wants that any more
   * @returns false when it was stopped before that.
   * @throws DatabaseUnusableError when the database can never do.
   */
  start(signal?: AbortSignal): Promise<boolean>;
  /** Finished when it returns; may be called twice, and before `start` has returned. */
  stop(): Promise<void>;
}

/** Activities at once, each with a connection of its own; the sweeper and the gate have the rest of the pool. */
export const MAX_ACTIVITIES = 16;
const POOL_SIZE = MAX_ACTIVITIES + 4;

/** Above a handler's 5 s, below the activity's 15 s: a statement that hangs is ended by the server. */
const STATEMENT_TIMEOUT_MS = 6_000;
/** A lock that is not had in this time is the infrastructure's trouble, and tried again. */
const LOCK_TIMEOUT_MS = 3_000;

const START_DEADLINE_MS = 2_000;

/**
 * All that a worker does besides polling: the activities, and the sweeper that finds what was left behind.
 * @throws ConfigError for a handler set or a kind of operation that does not exist, or a kind that is given twice.
 */
export function createWorkerService(options: WorkerServiceOptions): WorkerService {
  const { config, client, log, metrics, checkpoints } = options;
  // All that may be refused comes before what has to be ended.
  const registry = createOperationRegistry(operationKinds(config, client, options.operations));
  const handlerSets = new Map([...builtInHandlerSets(config), ...options.handlerSets]);
  const sources = workerSources(config, handlerSets);
  const brakeOf = effectBrakes(config, registry.kinds);
  const pool = createPool({
    url: requireDatabaseUrl(config),
    applicationName: 'oncehook worker',
    max: POOL_SIZE,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    log,
  });
  const attributes = watchSearchAttributes(client, client.options.namespace, log);
  const activities = createWorkerActivities({
    pool,
    sources,
    registry,
    brakeOf,
    wait: {
      firstWaitMs: config.orders.firstWaitMs,
      maxWaitMs: config.orders.maxWaitMs,
      horizonMs: config.orders.unknownOrderHorizonMs,
    },
    searchAttributes: attributes.known,
    checkpoints,
    log,
    metrics,
  });
  const starts = createWorkflowStarts({
    client,
    taskQueue: config.environment.temporalTaskQueue,
    deadlineMs: START_DEADLINE_MS,
  });
  const sweeper = createSweeper({
    pool,
    startEvent: starts.startEvent,
    startOperation: starts.startOperation,
    claimOperations: (limit) => claimDueOperations(pool, limit),
    returnOperations: (keys) => returnOperations(pool, keys),
    isUnanswered,
    failedTaskAttempts: (event) => failedTaskAttempts(client, event),
    giveUpOnRun: async (event) => {
      await quarantineEvent(
        { pool, sources, searchAttributes: attributes.known, metrics },
        { ...event, reason: 'workflow_stuck', replay: null },
      );
      await terminateRun(client, event, 'workflow_stuck');
    },
    checkpoints,
    log,
    metrics,
  });

  const parts: Stoppable[] = [
    { name: 'database pool', stop: () => pool.end() },
    { name: 'search attributes', stop: attributes.stop },
  ];
  const stopping = new AbortController();
  const start = async (signal: AbortSignal): Promise<boolean> => {
    const ending = AbortSignal.any([signal, stopping.signal]);
    await untilDatabaseReady(pool, log, ending);
    if (ending.aborted) return false;
    const loop = startSweepLoop({ sweeper, startsPerSecond: config.dispatch.startsPerSecond, log });
    parts.push({ name: 'sweeper', stop: loop.stop });
    return true;
  };
  let started: Promise<boolean> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    activities,
    start: (signal = stopping.signal) => (started ??= start(signal)),
    stop: () => {
      stopping.abort();
      return (stopped ??= stopAll(parts, log));
    },
  };
}

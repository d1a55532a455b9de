import type { Pool } from 'pg';
import { createActivities, type Activities } from '../activities/index.js';
import type { ApplySource } from '../activities/apply-event.js';
import { createPerformOperation } from '../activities/perform-operation.js';
import type { CheckpointHook } from './checkpoints.js';
import type { WaitPolicy } from './domain/wait-schedule.js';
import type { Logger } from './observability/logger.js';
import type { Metrics } from './observability/metrics.js';
import { findOperationsOfEvent } from './operations/find-operations.js';
import type { Brake } from './operations/brake.js';
import { createPlanner } from './operations/plan-operations.js';
import type { OperationRegistry } from './operations/registry.js';

export interface WorkerActivitiesOptions {
  readonly pool: Pool;
  readonly sources: ReadonlyMap<string, ApplySource>;
  readonly registry: OperationRegistry;
  /** How far operations of a kind go without an operator. */
  readonly brakeOf: (kind: string) => Brake;
  readonly wait: WaitPolicy;
  readonly searchAttributes: () => boolean;
  readonly checkpoints: CheckpointHook;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Builds all activities of a worker from what it is given; nothing of it is global. */
export function createWorkerActivities(options: WorkerActivitiesOptions): Activities {
  const { pool, sources, registry, wait, brakeOf, searchAttributes, checkpoints, log, metrics } = options;
  return createActivities({
    pool,
    sources,
    wait,
    searchAttributes,
    checkpoints,
    log,
    metrics,
    plan: createPlanner({ registry, modeOf: (kind) => brakeOf(kind).mode }),
    operationsOf: findOperationsOfEvent,
    performOperation: createPerformOperation({ pool, registry, brakeOf, checkpoints, metrics, log }),
  });
}

import type { Client } from '@temporalio/client';
import type { Registry } from 'prom-client';
import type { CheckpointHook } from '../checkpoints.js';
import { requireDatabaseUrl, type Config } from '../config/index.js';
import { schemaState } from '../db/migrate.js';
import { createPool } from '../db/pool.js';
import { createDispatcher } from '../dispatch/dispatcher.js';
import { INSERT_STATEMENT_TIMEOUT_MS } from '../inbox/commit-batch.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';
import { createReceiver, type Receiver } from '../receiver.js';
import { createTemporalProbe } from '../temporal/probe.js';
import { createWorkflowStarts } from '../temporal/workflow-starts.js';
import { receiverConfig } from './receiver-config.js';
import { stopAll } from './stoppable.js';

/** What services of ours are given, whoever runs them; nothing of it is global. */
export interface ServiceContext {
  readonly config: Config;
  /** Stays open when the service stops. */
  readonly client: Client;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly checkpoints: CheckpointHook;
}

export interface ReceiverService extends Receiver {
  readonly registry: Registry;
}

/** Connections of one receiver: batches in flight, and one for the readiness check. */
const POOL_SIZE = 8;

/** One start after the commit, in milliseconds; what takes longer is the sweeper's. */
const START_DEADLINE_MS = 2_000;

/**
 * A receiver with its database pool and its dispatcher, by configuration. Nothing connects before it is needed: a
 * database that comes later is no reason to stay away, and without one senders get 503 and come again.
 * @throws ConfigError without DATABASE_URL.
 */
export function createReceiverService({ config, client, log, metrics, checkpoints }: ServiceContext): ReceiverService {
  const pool = createPool({
    url: requireDatabaseUrl(config),
    applicationName: 'oncehook receiver',
    max: POOL_SIZE,
    statementTimeoutMs: INSERT_STATEMENT_TIMEOUT_MS,
    log,
  });
  const taskQueue = config.environment.temporalTaskQueue;
  const { startEvent } = createWorkflowStarts({ client, taskQueue, deadlineMs: START_DEADLINE_MS });
  const dispatcher = createDispatcher({ startEvent, checkpoints, log, metrics });
  const receiver = createReceiver({
    config: receiverConfig(config),
    pool,
    dispatch: (event) => {
      dispatcher.dispatch(event);
    },
    checkpoints,
    log,
    metrics,
    schemaCheck: () => schemaState(pool),
    temporalCheck: createTemporalProbe(client),
  });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    stopAll(
      [
        { name: 'database pool', stop: () => pool.end() },
        { name: 'dispatcher', stop: () => dispatcher.stop() },
        { name: 'receiver', stop: () => receiver.stop() },
      ],
      log,
    );
  return { ...receiver, registry: metrics.registry, stop: () => (stopped ??= stop()) };
}

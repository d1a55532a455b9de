import { requireDatabaseUrl } from '../config/index.js';
import { createPool } from '../db/pool.js';
import { schemaState } from '../db/migrate.js';
import { createDispatcher } from '../dispatch/dispatcher.js';
import { INSERT_STATEMENT_TIMEOUT_MS } from '../inbox/commit-batch.js';
import { createMetrics, addProcessMetrics } from '../observability/metrics.js';
import { createReceiver } from '../receiver.js';
import { createTemporalClient, loadTemporalSettings } from '../temporal/connect.js';
import { createTemporalProbe } from '../temporal/probe.js';
import { createWorkflowStarts } from '../temporal/workflow-starts.js';
import { startAdminServer } from './admin-server.js';
import type { ProcessContext } from './process-context.js';
import { receiverConfig } from './receiver-config.js';
import { startSecretReload } from './secret-reload.js';
import { stopAll, untilAskedToStop, type Stoppable } from './shutdown.js';

/** Connections of one receiver: batches in flight, and one for the readiness check. */
const POOL_SIZE = 8;

/** One start after the commit, in milliseconds; what takes longer is the sweeper's. */
const START_DEADLINE_MS = 2_000;

/**
 * Runs a receiver until it is asked to stop. It listens at once and says on /readyz what it lacks: a database that
 * comes later is no reason to stay away, and without one senders get 503 and come again.
 */
export async function runReceiver({ config, env, log, checkpoints }: ProcessContext): Promise<void> {
  const metrics = createMetrics();
  addProcessMetrics(metrics);
  const { host, port, adminHost, adminPort, adminToken, temporalTaskQueue } = config.environment;
  const pool = createPool({
    url: requireDatabaseUrl(config),
    applicationName: 'oncehook receiver',
    max: POOL_SIZE,
    statementTimeoutMs: INSERT_STATEMENT_TIMEOUT_MS,
    log,
  });
  const temporal = createTemporalClient(loadTemporalSettings(env));
  const { startEvent } = createWorkflowStarts({
    client: temporal.client,
    taskQueue: temporalTaskQueue,
    deadlineMs: START_DEADLINE_MS,
  });
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
    temporalCheck: createTemporalProbe(temporal.client),
  });

  const parts: Stoppable[] = [
    { name: 'temporal client', stop: () => temporal.close() },
    { name: 'database pool', stop: () => pool.end() },
    { name: 'dispatcher', stop: () => dispatcher.stop() },
  ];
  try {
    parts.push(await startAdminServer({ metrics, token: adminToken?.reveal(), host: adminHost, port: adminPort, log }));
    parts.push(startSecretReload({ config, env, log, metrics }));
    const listening = await receiver.listen({ host, port });
    parts.push({ name: 'receiver', stop: () => receiver.stop() });
    log.info({ host, port: listening.port, sources: [...config.sources.keys()] }, 'receiver ready');
    await untilAskedToStop(log);
  } finally {
    await stopAll(parts, log);
  }
}

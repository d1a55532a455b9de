import { DefaultLogger, Runtime } from '@temporalio/worker';
import { addProcessMetrics, createMetrics } from '../observability/metrics.js';
import type { Logger } from '../observability/logger.js';
import { pollTemporal } from '../service/poll-temporal.js';
import { stopAll, type Stoppable } from '../service/stoppable.js';
import { createWorkerService, MAX_ACTIVITIES } from '../service/worker-service.js';
import { createTemporalClient, loadTemporalSettings } from '../temporal/connect.js';
import { createTemporalWorker } from '../temporal/create-worker.js';
import { startAdminServer } from './admin-server.js';
import { untilAskedToStop } from './asked-to-stop.js';
import type { ProcessContext } from './process-context.js';

/** What of the SDK's lines is not a warning is for one who looks closely. */
const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;

/** Runs a worker with its sweeper until it is asked to stop. */
export async function runWorker({ config, env, log, checkpoints }: ProcessContext): Promise<void> {
  installRuntime(log);
  const metrics = createMetrics();
  addProcessMetrics(metrics);
  const { adminHost, adminPort, adminToken, temporalTaskQueue: taskQueue } = config.environment;
  const settings = loadTemporalSettings(env);
  const { client, close } = createTemporalClient(settings);
  const parts: Stoppable[] = [{ name: 'temporal client', stop: close }];
  const stopping = new AbortController();
  void untilAskedToStop(log).then(() => {
    stopping.abort();
  });
  try {
    parts.push(await startAdminServer({ metrics, token: adminToken?.reveal(), host: adminHost, port: adminPort, log }));
    const handlerSets = new Map();
    const service = createWorkerService({ config, client, log, metrics, checkpoints, handlerSets, operations: [] });
    parts.push({ name: 'worker', stop: () => service.stop() });
    if (!(await service.start(stopping.signal))) return;
    await pollTemporal({
      create: () =>
        createTemporalWorker({ settings, taskQueue, activities: service.activities, maxActivities: MAX_ACTIVITIES }),
      log,
      signal: stopping.signal,
      onReady: () => {
        log.info({ taskQueue, namespace: settings.namespace }, 'worker ready');
      },
    });
  } finally {
    await stopAll(parts, log);
  }
}

/**
 * The SDK has one runtime per process, which is the process's to set up and no library's. Of what the SDK says of each
 * attempt, `debug` shows the begin and the end.
 */
function installRuntime(log: Logger): void {
  const level = log.isLevelEnabled('debug') ? 'DEBUG' : 'WARN';
  Runtime.install({
    logger: new DefaultLogger(level, ({ level: ofLine, message, meta }) => {
      const { error: _text, ...fields } = meta ?? {};
      log[LEVELS[ofLine]]({ temporal: fields }, message);
    }),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
  });
}

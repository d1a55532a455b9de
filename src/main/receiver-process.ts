import { addProcessMetrics, createMetrics } from '../observability/metrics.js';
import { createReceiverService } from '../service/receiver-service.js';
import { startSecretReload } from '../service/secret-reload.js';
import { stopAll, type Stoppable } from '../service/stoppable.js';
import { createTemporalClient, loadTemporalSettings } from '../temporal/connect.js';
import { startAdminServer } from './admin-server.js';
import { untilAskedToStop } from './asked-to-stop.js';
import type { ProcessContext } from './process-context.js';

/** Runs a receiver until it is asked to stop. It listens at once and says on /readyz what it lacks. */
export async function runReceiver({ config, env, log, checkpoints }: ProcessContext): Promise<void> {
  const metrics = createMetrics();
  addProcessMetrics(metrics);
  const { host, port, adminHost, adminPort, adminToken } = config.environment;
  const { client, close } = createTemporalClient(loadTemporalSettings(env));
  const parts: Stoppable[] = [{ name: 'temporal client', stop: close }];
  try {
    parts.push(await startAdminServer({ metrics, token: adminToken?.reveal(), host: adminHost, port: adminPort, log }));
    parts.push(startSecretReload({ config, env, log, metrics, onHangup: true }));
    const receiver = createReceiverService({ config, client, log, metrics, checkpoints });
    parts.push({ name: 'receiver', stop: () => receiver.stop() });
    const listening = await receiver.listen({ host, port });
    log.info({ host, port: listening.port, sources: [...config.sources.keys()] }, 'receiver ready');
    await untilAskedToStop(log);
  } finally {
    await stopAll(parts, log);
  }
}

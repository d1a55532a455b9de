import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdminApp } from '../http/admin-app.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';
import type { Stoppable } from '../service/stoppable.js';

/** Starts the operator's listener and logs its port, which is the system's choice when 0 was asked for. */
export async function startAdminServer(options: {
  readonly metrics: Metrics;
  readonly token: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly log: Logger;
}): Promise<Stoppable> {
  const { metrics, token, host, port, log } = options;
  const server = createServer(createAdminApp({ registry: metrics.registry, token, log }));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  log.info({ host, port: (server.address() as AddressInfo).port }, 'operator listener ready');
  return {
    name: 'operator listener',
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

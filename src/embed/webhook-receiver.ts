import type { Router } from 'express';
import type { Registry } from 'prom-client';
import type { Readiness } from '../http/readiness.js';
import { createReceiverService } from '../service/receiver-service.js';
import { startSecretReload } from '../service/secret-reload.js';
import { stopAll } from '../service/stoppable.js';
import { openContext, type WebhookOptions } from './webhook-options.js';

/** The receiving half, for an application's own HTTP server. */
export interface WebhookReceiver {
  /**
   * `POST /webhooks/{source}` for Express. Mount it before any body parser: a signature covers the bytes as they came.
   */
  readonly router: Router;
  /**
   * The same for servers that speak web-standard requests (Hono, Next.js, Bun-style handlers on Node).
   * @param sourceName where the framework's routing has found it; else the path must end in `/webhooks/{source}`
   */
  readonly fetch: (request: Request, sourceName?: string) => Promise<Response>;
  /** What `/readyz` of the service says: ready when PostgreSQL answers and the schema fits. */
  readonly readiness: () => Promise<Readiness>;
  /** This receiver's metrics (prom-client); `Registry.merge` joins them with an application's own. */
  readonly metrics: Registry;
  /**
   * Answers 503 from now on, commits what waits, closes the connections. Finished when it returns; may be called twice.
   * Stop listening first.
   */
  stop(): Promise<void>;
}

/**
 * Verifies deliveries, commits them to the inbox before answering, and starts their workflows. Connects when the first
 * request comes: it can be built while neither PostgreSQL nor Temporal is there. Secrets in files are read again when
 * they change.
 * @throws ConfigError with every problem at once.
 */
export function createWebhookReceiver(options: WebhookOptions): WebhookReceiver {
  const context = openContext(options, 'receiver');
  const service = createReceiverService(context);
  const { log, close } = context;
  const secrets = startSecretReload({ ...context, onHangup: false });
  return {
    router: service.router,
    fetch: service.fetch,
    readiness: service.readiness,
    metrics: service.registry,
    stop: () =>
      stopAll(
        [{ name: 'temporal client', stop: close }, secrets, { name: 'receiver', stop: () => service.stop() }],
        log,
      ),
  };
}

import type { Express, Router } from 'express';
import type { Logger } from '../observability/logger.js';
import { answerError, answerMethodNotAllowed, answerNotFound, plainExpress } from './plain-express.js';
import { sendText } from './problem.js';
import { sendReadiness, type Readiness } from './readiness.js';
import { identifyRequest } from './request-id.js';

export interface PublicAppOptions {
  readonly router: Router;
  readonly readiness: () => Promise<Readiness>;
  readonly log: Logger;
}

/** What the world may reach: the webhooks, two health checks, and nothing else. */
export function createPublicApp({ router, readiness, log }: PublicAppOptions): Express {
  const app = plainExpress();
  app.use(router);
  app.get('/healthz', (req, res) => {
    identifyRequest(req, res);
    sendText(req, res, 200, 'application/json', JSON.stringify({ status: 'ok' }));
  });
  app.get('/readyz', async (req, res) => {
    identifyRequest(req, res);
    sendReadiness(req, res, await readiness());
  });
  app.all(['/healthz', '/readyz'], answerMethodNotAllowed('GET, HEAD'));
  app.use(answerNotFound);
  app.use(answerError(log));
  return app;
}

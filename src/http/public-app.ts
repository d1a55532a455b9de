import type { Express, RequestHandler, Router } from 'express';
import type { Logger } from '../observability/logger.js';
import { answerError, answerMethodNotAllowed, answerNotFound, plainExpress } from './plain-express.js';
import type { LineSampler } from './line-sampler.js';
import { sendText } from './answer.js';
import { sendReadiness, type Readiness } from './readiness.js';
import { identifyRequest } from './request-id.js';

export interface PublicAppOptions {
  readonly router: Router;
  readonly readiness: () => Promise<Readiness>;
  readonly log: Logger;
  readonly sampler: LineSampler;
}

/** What the world may reach: the webhooks, two health checks, and nothing else. */
export function createPublicApp({ router, readiness, log, sampler }: PublicAppOptions): Express {
  const app = plainExpress();
  app.use(router);
  app.use(logRequest(log, sampler));
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

/** A line for what is no delivery: never its path, which is the caller's text. Health checks are many, and say little. */
function logRequest(log: Logger, sampler: LineSampler): RequestHandler {
  return (req, res, next) => {
    const requestId = identifyRequest(req, res);
    res.on('finish', () => {
      const line = { requestId, status: res.statusCode };
      if (res.statusCode === 200) log.debug(line, 'request');
      else if (sampler.allows(`request ${res.statusCode}`)) log.info(line, 'request');
    });
    next();
  };
}

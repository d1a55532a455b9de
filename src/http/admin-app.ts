import { createHash, timingSafeEqual } from 'node:crypto';
import type { Express, RequestHandler, Router } from 'express';
import type { Registry } from 'prom-client';
import type { Logger } from '../observability/logger.js';
import { answerError, answerMethodNotAllowed, answerNotFound, plainExpress } from './plain-express.js';
import { sendText } from './answer.js';
import { sendProblem } from './problem.js';
import { identifyRequest } from './request-id.js';

export interface AdminAppOptions {
  readonly registry: Registry;
  /** `ADMIN_TOKEN`. Without one nothing but the metrics exists. */
  readonly token: string | undefined;
  readonly log: Logger;
  /** What an operator may do, reached with the token only. */
  readonly router?: Router;
}

/** The operator's listener of any of our processes: metrics for everybody who can reach it, the rest by bearer token. */
export function createAdminApp({ registry, token, log, router }: AdminAppOptions): Express {
  const app = plainExpress();
  app.get('/metrics', async (req, res) => {
    identifyRequest(req, res);
    sendText(req, res, 200, registry.contentType, await registry.metrics());
  });
  app.all('/metrics', answerMethodNotAllowed('GET, HEAD'));
  if (token !== undefined) app.use(demandToken(token));
  if (token !== undefined && router !== undefined) app.use(router);
  app.use(answerNotFound);
  app.use(answerError(log));
  return app;
}

function demandToken(token: string): RequestHandler {
  const expected = sha256(`Bearer ${token}`);
  return (req, res, next) => {
    // Digests have one length whatever was sent, so the comparison tells nothing about the token.
    if (timingSafeEqual(sha256(req.headers.authorization ?? ''), expected)) {
      next();
      return;
    }
    sendProblem(req, res, 'unauthorized', { requestId: identifyRequest(req, res) });
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Logger } from '../observability/logger.js';
import { sendProblem } from './problem.js';
import { identifyRequest } from './request-id.js';

/** An Express application that adds nothing by itself: exact paths, no headers of its own, no parsing of anything. */
export function plainExpress(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', false);
  return app;
}

/** For whatever no route has taken. */
export const answerNotFound: RequestHandler = (req, res) => {
  sendProblem(req, res, 'not_found', { requestId: identifyRequest(req, res) });
};

/** For a path that has other methods. */
export function answerMethodNotAllowed(allow: string): RequestHandler {
  return (req, res) => {
    sendProblem(req, res, 'method_not_allowed', { requestId: identifyRequest(req, res), allow });
  };
}

/** For what Express or a handler threw: a path that cannot be decoded is the caller's fault, all else is ours. */
export function answerError(log: Logger): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    const requestId = identifyRequest(req, res);
    if (error instanceof URIError) {
      log.debug({ requestId }, 'malformed path');
      sendProblem(req, res, 'malformed_request', { requestId });
      return;
    }
    log.error({ err: error, requestId }, 'request failed');
    sendProblem(req, res, 'unavailable', { requestId });
  };
}

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DistinctHeaders } from '../sources/source.js';

/** What a proxy in front may have named the request; anything else could forge log lines or headers. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * The request's ID, echoed in the answer: the one that an earlier handler has put there, else the request's own
 * `X-Request-Id` when it is well-formed and given once, else a new UUID.
 */
export function identifyRequest(req: IncomingMessage, res: ServerResponse): string {
  const known = res.getHeader('X-Request-Id');
  if (typeof known === 'string' && REQUEST_ID.test(known)) return known;
  const id = requestIdOf(req.headersDistinct);
  if (!res.headersSent) res.setHeader('X-Request-Id', id);
  return id;
}

/** The request's own ID when it is well-formed and given once, else a new one. */
export function requestIdOf(headers: DistinctHeaders): string {
  const [given, ...more] = headers['x-request-id'] ?? [];
  return given !== undefined && more.length === 0 && REQUEST_ID.test(given) ? given : randomUUID();
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { closeAfterAnswer } from './close-after-answer.js';

/** The one table from what went wrong to an HTTP status. The codes are part of the contract with senders. */
const STATUS_OF = {
  malformed_request: 400,
  empty_body: 400,
  invalid_json: 400,
  json_too_deep: 400,
  json_duplicate_key: 400,
  invalid_event: 400,
  invalid_signature: 401,
  unauthorized: 401,
  unknown_source: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  payload_too_large: 413,
  unsupported_encoding: 415,
  rate_limited: 429,
  unavailable: 503,
} as const;

export type ProblemCode = keyof typeof STATUS_OF;

/** Long enough for a lock or a restart to pass, short enough not to add to the backlog; in seconds. */
const RETRY_AFTER_SECONDS = 5;

export interface ProblemOptions {
  readonly requestId: string;
  /** The methods that the resource has; only with `method_not_allowed`. */
  readonly allow?: string;
}

/**
 * Answers with a problem document (RFC 9457). It names the code and nothing of the request but its ID. When the
 * request's body was not read to its end the connection closes, so that nobody has to read the rest.
 */
export function sendProblem(
  req: IncomingMessage,
  res: ServerResponse,
  code: ProblemCode,
  options: ProblemOptions,
): void {
  const status = STATUS_OF[code];
  if (options.allow !== undefined) res.setHeader('Allow', options.allow);
  if (status === 429 || status === 503) res.setHeader('Retry-After', String(RETRY_AFTER_SECONDS));
  if (code === 'unauthorized') res.setHeader('WWW-Authenticate', 'Bearer');
  if (hasUnreadBody(req)) closeAfterAnswer(req, res);
  const problem = {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code,
    requestId: options.requestId,
  };
  sendText(req, res, status, 'application/problem+json', JSON.stringify(problem));
}

/** Answers with a text whose type is fixed: no browser may guess another, no cache may keep it. */
export function sendText(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  contentType: string,
  text: string,
): void {
  res.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  res.end(req.method === 'HEAD' ? undefined : text);
}

function hasUnreadBody(req: IncomingMessage): boolean {
  if (req.complete) return false;
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { sendAnswer, textAnswer, type Answer } from './answer.js';
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

/** A problem document (RFC 9457). It names the code and nothing of the request but its ID. */
export function problemAnswer(code: ProblemCode, options: ProblemOptions): Answer {
  const status = STATUS_OF[code];
  const problem = {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code,
    requestId: options.requestId,
  };
  return textAnswer(status, 'application/problem+json', JSON.stringify(problem), {
    ...(options.allow !== undefined && { Allow: options.allow }),
    ...((status === 429 || status === 503) && { 'Retry-After': String(RETRY_AFTER_SECONDS) }),
    ...(code === 'unauthorized' && { 'WWW-Authenticate': 'Bearer' }),
  });
}

/** Answers with a problem document. */
export function sendProblem(
  req: IncomingMessage,
  res: ServerResponse,
  code: ProblemCode,
  options: ProblemOptions,
): void {
  closeIfUnread(req, res);
  sendAnswer(req, res, problemAnswer(code, options));
}

/** A body that was not read to its end ends its connection with the answer, so that nobody has to read the rest. */
export function closeIfUnread(req: IncomingMessage, res: ServerResponse): void {
  if (!req.complete && hasBody(req)) closeAfterAnswer(req, res);
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

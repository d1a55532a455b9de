import type { OperationAnswer } from '../api/index.js';
import type { HttpResult } from './http-request.js';

type Answered = Extract<HttpResult, { kind: 'answered' }>;
type Failed = Extract<HttpResult, { kind: 'failed' }>;

/** The other side did not take the request and may take the same one later (RFC 9110, RFC 8470, RFC 6585). */
const COME_AGAIN = new Set([408, 425, 429]);
/** Another credential, or another permission, is an operator's matter and not the request's. */
const WANTS_LOGIN = new Set([401, 403]);
/** What they answer for lies elsewhere, so it was not done here. Of the other redirects 302 and 303 may follow a deed. */
const MOVED = new Set([301, 307, 308]);

/** Our names for what Node calls the troubles of a connection before it stands. */
const CODES: ReadonlyMap<string, string> = new Map([
  ['ABORTED', 'http_connect_timeout'],
  ['EAI_AGAIN', 'http_dns'],
  ['ENOTFOUND', 'http_dns'],
  ['ETIMEDOUT', 'http_connect_timeout'],
]);

/** Errors of the connection itself while TLS comes up; all others there are about certificates and protocols. */
const CONNECTION_ERRORS = new Set(['ABORTED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENETDOWN', 'EHOSTUNREACH']);

/**
 * What an exchange says about the effect. A status decides; without one it is the phase: before the connection stands
 * nothing was sent, after that nobody here can know. Pure; `nowMs` is Unix time.
 */
export function answerTo(result: HttpResult, nowMs: number): OperationAnswer {
  return result.kind === 'answered' ? answerToStatus(result, nowMs) : answerToFailure(result);
}

function answerToStatus({ status, retryAfter }: Answered, nowMs: number): OperationAnswer {
  const code = `http_${status}`;
  if (status >= 200 && status < 300) return { kind: 'confirmed' };
  if (COME_AGAIN.has(status)) return { kind: 'notSent', code, ...patience(retryAfter, nowMs) };
  if (WANTS_LOGIN.has(status) || MOVED.has(status)) return { kind: 'notSent', code, configuration: true };
  if (status >= 400 && status < 500) return { kind: 'refused', code };
  return { kind: 'unknown', code };
}

function answerToFailure({ phase, errorCode }: Failed): OperationAnswer {
  switch (phase) {
    case 'connecting':
      return { kind: 'notSent', code: CODES.get(errorCode) ?? 'http_connection' };
    case 'securing':
      if (!CONNECTION_ERRORS.has(errorCode)) return { kind: 'notSent', code: 'http_tls', configuration: true };
      return { kind: 'notSent', code: CODES.get(errorCode) ?? 'http_connection' };
    case 'sent':
      return { kind: 'unknown', code: errorCode === 'ABORTED' ? 'http_timeout' : 'http_answer_lost' };
  }
}

/** `Retry-After` in seconds or as a date (RFC 9110, 10.2.3); anything else asks for nothing. */
function patience(retryAfter: string | null, nowMs: number): { readonly retryAfterMs?: number } {
  if (retryAfter === null) return {};
  if (/^\d{1,9}$/.test(retryAfter)) return { retryAfterMs: Number(retryAfter) * 1_000 };
  // A date begins with its weekday. `Date.parse` alone would take nearly anything.
  const at = /^[A-Z][a-z]+,? /.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(at) ? {} : { retryAfterMs: Math.max(at - nowMs, 0) };
}

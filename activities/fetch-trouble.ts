import { errorKind, withCauses } from '../src/db/error-kinds.js';

/** Codes of a connection that failed, by undici, which is node's `fetch`, and by axios; node's own are in the error table. */
const NETWORK_CODES = new Set([
  'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_SOCKET', 'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED', 'UND_ERR_ABORTED', 'ERR_NETWORK', 'EPROTO',
]); // prettier-ignore

/** What `fetch` (with a cause that says why) and the body of its answer fail with when the network does (undici 6 and 7). */
const NETWORK_MESSAGES = new Set(['fetch failed', 'terminated']);

/** A limit of the fetch's own, shorter than ours. */
const ABORT_NAMES = new Set(['AbortError', 'TimeoutError']);

/**
 * Whether a failed fetch of a handler's own says that its provider could not be asked now: the network, a time limit,
 * or an answer 408, 425, 429 or 5xx, told by the error's `status` or `statusCode` as the usual clients do. Everything
 * else would happen again.
 */
export function isProviderTrouble(error: unknown): boolean {
  return withCauses(error).some(
    (one) => one instanceof Error && (isNetworkTrouble(one) || isPassingStatus(statusOf(one))),
  );
}

function isNetworkTrouble(error: Error): boolean {
  if (errorKind(error, 'handler') === 'infrastructure' || ABORT_NAMES.has(error.name)) return true;
  if ('code' in error && typeof error.code === 'string' && NETWORK_CODES.has(error.code)) return true;
  return error instanceof TypeError && NETWORK_MESSAGES.has(error.message);
}

/** Of the error (Octokit, axios), by another name (got, Stripe), or of the answer that it carries. */
function statusOf(error: Error): unknown {
  const { status, statusCode, response } = error as { status?: unknown; statusCode?: unknown; response?: unknown };
  if (status !== undefined || statusCode !== undefined) return status ?? statusCode;
  return typeof response === 'object' && response !== null && 'status' in response ? response.status : undefined;
}

function isPassingStatus(status: unknown): boolean {
  return typeof status === 'number' && (status >= 500 || status === 408 || status === 425 || status === 429);
}

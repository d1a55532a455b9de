import type { DistinctHeaders } from '../sources/source.js';
import { answerTo } from './answer-verdict.js';
import { recordDelivery } from './delivery-log.js';
import { judgeDelivery } from './judge-delivery.js';
import { problemAnswer, type ProblemCode } from './problem.js';
import type { Answer } from './answer.js';
import { readRequestBody } from './read-request-body.js';
import type { ReceiveDeps } from './receive-webhook.js';
import { requestIdOf } from './request-id.js';
import { startProcessing } from './start-processing.js';
import { refused } from './verdict.js';

/**
 * Answers a web-standard request to a source; for servers that speak `Request` and `Response` instead of Node's own.
 * @param sourceName the source, where the framework's own routing has found it; else it is the last step of the
 * request's path, which must end in `/webhooks/{source}`
 */
export type ReceiveRequest = (request: Request, sourceName?: string) => Promise<Response>;

/** Whatever prefix an application has mounted it under. */
const PATH = /\/webhooks\/([^/]+)$/;

export function createReceiveRequest(deps: ReceiveDeps): ReceiveRequest {
  return async (request, given) => {
    const startedAt = performance.now();
    const headers = distinctHeaders(request.headers);
    const requestId = requestIdOf(headers);
    const name = given === undefined ? sourceIn(request) : { source: given };
    if ('problem' in name) return respond(problemAnswer(name.problem, { requestId }), requestId);
    const receiving = deps.sources.get(name.source);
    const delivery = {
      method: request.method,
      headers,
      readBody: readRequestBody.bind(undefined, request),
    };
    const verdict = await judgeDelivery(deps, delivery, receiving, requestId).catch((error: unknown) =>
      refused('unavailable', 'unexpected_error', { err: error }),
    );
    const durationMs = performance.now() - startedAt;
    recordDelivery(deps, { requestId, source: receiving?.source.name, verdict, durationMs });
    // The server tells nobody when the answer has left; a turn of the event loop is its chance to send it.
    void startProcessing(deps, verdict, () => new Promise(setImmediate));
    const nobodyListens = problemAnswer('malformed_request', { requestId });
    return respond(answerTo(verdict, requestId, receiving) ?? nobodyListens, requestId);
  };
}

function sourceIn({ url }: Request): { readonly source: string } | { readonly problem: ProblemCode } {
  const [, step] = PATH.exec(new URL(url).pathname) ?? [];
  if (step === undefined) return { problem: 'not_found' };
  try {
    return { source: decodeURIComponent(step) };
  } catch {
    return { problem: 'malformed_request' };
  }
}

/** `Headers` has joined what came several times, so that a header sent twice cannot be told from one with commas. */
function distinctHeaders(headers: Headers): DistinctHeaders {
  // A Map's entries, so that a header named `__proto__` is a field like any other.
  return Object.fromEntries([...headers].map(([name, value]) => [name, [value]]));
}

function respond({ status, headers, text }: Answer, requestId: string): Response {
  return new Response(text, { status, headers: { ...headers, 'X-Request-Id': requestId } });
}

import { urlToHttpOptions } from 'node:url';
import { z } from 'zod';
import { defineOperation, type AnyOperationDefinition, type OperationAnswer } from '../api/index.js';
import { answerTo } from './http-answer.js';
import { postJson } from './http-request.js';

/** Where requests of one name go. */
export interface HttpTarget {
  /** The whole URL, asked for at each attempt and kept nowhere: it may hold a token. */
  readonly url: () => string;
}

export interface HttpOperationOptions {
  /** By the name that parameters give. */
  readonly targets: ReadonlyMap<string, HttpTarget>;
  /** How long attempts are repeated, in milliseconds since the first. */
  readonly giveUpAfterMs: number;
  /** Unix time in milliseconds; `Date.now` by default. */
  readonly now?: () => number;
}

const httpParams = z.strictObject({
  /** A name and not a URL: parameters lie in the database, readable, and must not decide where requests go. */
  target: z.string().regex(/^[a-z][a-z0-9_-]{0,62}$/),
  body: z.record(z.string(), z.json()),
});

/** What a handler gives for an operation of kind `http`. */
export type HttpParams = z.infer<typeof httpParams>;

/**
 * A POST of JSON to a configured target, made with nothing but the public API. Every attempt carries the same body and
 * the operation's key as `Idempotency-Key`; the other side is told to do nothing twice under one key, so a request
 * whose answer was lost is sent again.
 * @throws TypeError when a target's URL is none, without quoting it.
 */
export function httpOperation(options: HttpOperationOptions): AnyOperationDefinition {
  const { targets, giveUpAfterMs, now = Date.now } = options;
  for (const [name, target] of targets) {
    if (readUrl(target) === null) throw new TypeError(`The URL of target "${name}" is not an http or https URL`);
  }
  return defineOperation<HttpParams>({
    kind: 'http',
    params: httpParams,
    perform: async ({ params, idempotencyKey, signal }) => {
      const target = targets.get(params.target);
      const url = target === undefined ? null : readUrl(target);
      // Not a refusal: a worker that is started with the target can still send it.
      if (url === null) return { kind: 'notSent', code: 'unknown_target', configuration: true };
      const headers = { 'idempotency-key': idempotencyKey };
      return answerTo(await postJson({ url, headers, body: JSON.stringify(params.body), signal }), now());
    },
    classify,
    // No keyTtlMs: that the other side honours keys is asked of it and not known. So a refusal after a lost answer
    // settles nothing and is left to an operator.
    onUnknown: 'resend',
    giveUpAfterMs,
  });
}

function readUrl(target: HttpTarget): URL | null {
  try {
    const url = new URL(target.url());
    // Decodes user and password, which throws where their percent signs are none.
    urlToHttpOptions(url);
    return ['http:', 'https:'].includes(url.protocol) ? url : null;
  } catch {
    return null;
  }
}

/** Requests answer instead of throwing, so what arrives here is a fault of this code, at whatever point. */
function classify(): OperationAnswer {
  return { kind: 'unknown', code: 'unexpected_error' };
}

import { validateHeaderName, validateHeaderValue } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import { z } from 'zod';
import { defineOperation, type AnyOperationDefinition, type OperationAnswer } from '../api/index.js';
import { GIVE_UP_MS } from './give-up.js';
import { answerTo } from './http-answer.js';
import { postJson } from './http-request.js';

/** Where requests of one name go. Both functions are asked at each attempt, and what they give is kept nowhere. */
export interface HttpTarget {
  /** The whole `http:` or `https:` URL; it may hold a token. Its user and password become Basic authentication. */
  readonly url: () => string;
  /** Headers besides oncehook's own, such as `authorization`. */
  readonly headers?: () => Readonly<Record<string, string>>;
}

export interface HttpOperationOptions {
  /** Lower snake case. `http` by default, which takes the place of the built-in kind. */
  readonly kind?: string;
  /** By the name that parameters give: lower case, digits, `_` and `-`, at most 63 characters, a letter first. */
  readonly targets: Readonly<Record<string, HttpTarget>>;
  /**
   * For how long every target does nothing twice under one `Idempotency-Key`, in milliseconds; leave out unless they
   * promise it. With it nothing is sent again that could be a second effect, and a refusal after a lost answer is final.
   */
  readonly keyTtlMs?: number;
  /** How long attempts are repeated, in milliseconds since the first; 3 days by default. */
  readonly giveUpAfterMs?: number;
  /** Unix time in milliseconds; `Date.now` by default. */
  readonly now?: () => number;
}

const TARGET_NAME = /^[a-z][a-z0-9_-]{0,62}$/;

/** What decides where one request ends, or under which key it goes, is not a target's to say. */
const OUR_HEADERS = new Set([
  'idempotency-key', 'content-type', 'content-length', 'transfer-encoding', 'connection', 'expect', 'upgrade', 'host',
]); // prettier-ignore

const httpParams = z.strictObject({
  /** A name and not a URL: parameters lie in the database, readable, and must not decide where requests go. */
  target: z.string().regex(TARGET_NAME),
  body: z.record(z.string(), z.json()),
});

/** What a handler gives for an operation of kind `http`, or of one's own made with `httpOperation`. */
export type HttpParams = z.infer<typeof httpParams>;

/**
 * A kind of effects that is a POST of JSON to a configured target, made with nothing but the public API. Every attempt
 * carries the same body and the operation's key as `Idempotency-Key`; the other side is told to do nothing twice under
 * one key, so a request whose answer was lost is sent again. What its answers mean: docs/effects.md, "HTTP".
 * @throws TypeError when a target has a malformed name, or a URL or headers that cannot be sent; it quotes neither.
 */
export function httpOperation(options: HttpOperationOptions): AnyOperationDefinition {
  const { kind = 'http', keyTtlMs, giveUpAfterMs = GIVE_UP_MS, now = Date.now } = options;
  const targets = new Map(Object.entries(options.targets));
  for (const [name, target] of targets) checkTarget(name, target);
  return defineOperation<HttpParams>({
    kind,
    params: httpParams,
    perform: async ({ params, idempotencyKey, signal }) => {
      const target = targets.get(params.target);
      const url = target === undefined ? null : readUrl(target);
      const headers = target === undefined ? null : readHeaders(target);
      // Not a refusal: a worker that is started with the target can still send it.
      if (url === null || headers === null) return { kind: 'notSent', code: 'unknown_target', configuration: true };
      const request = { url, headers: { ...headers, 'idempotency-key': idempotencyKey }, signal };
      return answerTo(await postJson({ ...request, body: JSON.stringify(params.body) }), now());
    },
    classify,
    onUnknown: 'resend',
    // That the other side honours keys is asked of it and, unless somebody says so, not known. Without it a refusal
    // after a lost answer settles nothing and is left to an operator.
    ...(keyTtlMs === undefined ? {} : { keyTtlMs }),
    giveUpAfterMs,
  });
}

function checkTarget(name: string, target: HttpTarget): void {
  if (!TARGET_NAME.test(name)) {
    throw new TypeError(`A target's name is lower case, digits, _ and -, at most 63 characters, not "${name}"`);
  }
  if (readUrl(target) === null) throw new TypeError(`The URL of target "${name}" is not an http or https URL`);
  if (readHeaders(target) === null) {
    throw new TypeError(
      `The headers of target "${name}" cannot be sent: they are malformed, or among those that oncehook sets`,
    );
  }
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

function readHeaders({ headers }: HttpTarget): Readonly<Record<string, string>> | null {
  try {
    const given = headers?.() ?? {};
    for (const [name, value] of Object.entries(given)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      if (OUR_HEADERS.has(name.toLowerCase())) return null;
    }
    return given;
  } catch {
    return null;
  }
}

/** Requests answer instead of throwing, so what arrives here is a fault of this code, at whatever point. */
function classify(): OperationAnswer {
  return { kind: 'unknown', code: 'unexpected_error' };
}

import Stripe from 'stripe';
import type { OperationAnswer, ReconcileAnswer } from '../api/index.js';

/** Codes of a refusal that a person has to look at; each may change, and none by itself (docs.stripe.com/error-codes). */
const PARKING = new Set(['charge_disputed', 'refund_disputed_payment', 'resource_missing']);

/** Longer than any wait that Stripe asks for; what is later than this is no number of seconds. */
const MAX_RETRY_AFTER_S = 86_400;

/**
 * What an error of a call that changes something means. By status and code only: the SDK's classes mix cases (409 for a
 * key in use is a StripeAPIError like a 500, and so is an answer that is no JSON).
 */
export function answerTo(error: unknown): OperationAnswer {
  const { status, code, rawType, retryAfterMs } = factsOf(error);
  if (status === undefined) return { kind: 'unknown', code: 'no_answer' };
  if (status === 401) return { kind: 'notSent', code: 'provider_auth', configuration: true, pause: true };
  if (status === 403) return { kind: 'notSent', code: 'provider_permission', configuration: true, pause: true };
  if (status === 402) return { kind: 'refused', code: code ?? 'card_error' };
  // The limiter stands before the idempotency layer, and a lock that was not had is no execution.
  if (status === 429 || code === 'lock_timeout')
    return { kind: 'notSent', code: code ?? 'rate_limited', ...retryAfterMs };
  // An attempt under this key is being executed, and what comes of it is not known here.
  if (status === 409) return { kind: 'unknown', code: code ?? 'http_409', ...retryAfterMs };
  if (status >= 500) return { kind: 'unknown', code: `http_${status}`, ...retryAfterMs };
  if (status !== 400 && status !== 404) return { kind: 'unknown', code: `http_${status}` };
  // The key went out with other parameters before: a defect of ours, which no new key may paper over.
  if (rawType === 'idempotency_error') return { kind: 'park', code: 'idempotency_error' };
  if (code !== undefined && PARKING.has(code)) return { kind: 'park', code };
  return { kind: 'refused', code: code ?? 'invalid_request' };
}

/** What an error of a call that only reads means: nothing about the effect, except that it cannot be where we look. */
export function lookFailed(error: unknown): ReconcileAnswer {
  const { status, code } = factsOf(error);
  if (status === 401) return { kind: 'unknown', code: 'provider_auth', pause: true };
  if (status === 403) return { kind: 'unknown', code: 'provider_permission', pause: true };
  if (status === 404 && code === 'resource_missing') return { kind: 'park', code };
  return { kind: 'unknown', code: status === undefined ? 'no_answer' : `http_${status}` };
}

/** Stripe's code of an error, if it is one of Stripe's. */
export function codeOf(error: unknown): string | undefined {
  return factsOf(error).code;
}

/** The object that an error names as the one in the way. */
export function paymentIntentOf(error: unknown): unknown {
  return error instanceof Stripe.errors.StripeError ? error.payment_intent : undefined;
}

interface ErrorFacts {
  /** Undefined when no answer was read. */
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly rawType: string | undefined;
  readonly retryAfterMs: { readonly retryAfterMs?: number };
}

function factsOf(error: unknown): ErrorFacts {
  if (!(error instanceof Stripe.errors.StripeError)) {
    return { status: undefined, code: undefined, rawType: undefined, retryAfterMs: {} };
  }
  const { statusCode: status, code, rawType, headers } = error;
  return { status, code, rawType, retryAfterMs: retryAfterOf(headers) };
}

function retryAfterOf(headers: unknown): { readonly retryAfterMs?: number } {
  const value = (headers as Readonly<Record<string, string>> | undefined)?.['retry-after'];
  const seconds = value === undefined ? NaN : Number(value);
  return seconds > 0 && seconds <= MAX_RETRY_AFTER_S ? { retryAfterMs: seconds * 1_000 } : {};
}

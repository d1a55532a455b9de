import { z } from 'zod';
import type { OperationContext } from '../api/index.js';

/** Stripe may forget a key 24 h after its first use (docs.stripe.com/api/idempotent_requests). */
export const STRIPE_KEY_TTL_MS = 24 * 3_600_000;

/** Code of an operation in an account for which no source has a key. */
export const NO_KEY = 'no_api_key';

/** `stripe:{account}:{live|test}` of the payment; says in whose name the API is called. */
export const stripeScope = z.string().regex(/^stripe:[\x21-\x7e]+:(?:live|test)$/);

/** ID of a PaymentIntent. */
export const paymentId = z.string().regex(/^[A-Za-z0-9_]{1,255}$/);

/** The name under which Stripe's objects carry the operation that made them: the key without its generation. */
export function operationIdOf({ idempotencyKey }: Pick<OperationContext<unknown>, 'idempotencyKey'>): string {
  return idempotencyKey.replace(/:\d+$/, '');
}

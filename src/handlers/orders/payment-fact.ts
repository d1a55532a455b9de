import { z } from 'zod';
import { isMinorAmount } from '../../index.js';

/** What `payment_intent.succeeded` says, in the terms of an order. */
export interface PaymentFact {
  readonly paymentId: string;
  /** What was captured, in minor units. */
  readonly amountMinor: number;
  readonly currency: string;
  /** The reference that the application put on the payment; not yet known to be one of ours. */
  readonly orderReference: OrderReference;
  /** A tenant named in metadata: never used to find one, only to refuse a contradiction. */
  readonly metadataTenant: string | null;
}

export type OrderReference =
  | { readonly kind: 'order'; readonly id: string }
  | { readonly kind: 'none' }
  /** There is one, and it cannot be an order ID: an object, empty, or longer than any. */
  | { readonly kind: 'malformed' };

const amount = z.unknown().refine(isMinorAmount).transform(Number);

/**
 * A PaymentIntent as far as orders read it (Stripe API, object payment_intent). `amount_received` is the captured
 * amount; old API versions lack it.
 */
const paymentIntent = z.object({
  id: z.string().min(1).max(255),
  object: z.literal('payment_intent'),
  status: z.literal('succeeded'),
  amount,
  amount_received: amount.optional(),
  capture_method: z.string().nullish(),
  currency: z.string().regex(/^[A-Za-z]{3}$/),
  metadata: z.record(z.string(), z.unknown()).nullish(),
});

/** Orders and tenants are named by metadata keys that the application sets when it creates the payment. */
const ORDER_KEY = 'order_id';
const TENANT_KEY = 'tenant_id';
const MAX_ORDER_ID_LENGTH = 255;

/** Reads a succeeded PaymentIntent; null when it is not one that can be acted on. Nothing is coerced. */
export function readPaymentFact(object: unknown): PaymentFact | null {
  const parsed = paymentIntent.safeParse(object);
  if (!parsed.success) return null;
  const { id, amount: asked, amount_received: received, capture_method, currency, metadata } = parsed.data;
  // Without amount_received, the amount stands for it unless capture is manual and may have been partial.
  if (received === undefined && capture_method === 'manual') return null;
  const tenant = metadata?.[TENANT_KEY];
  return {
    paymentId: id,
    amountMinor: received ?? asked,
    currency: currency.toLowerCase(),
    orderReference: readOrderReference(metadata?.[ORDER_KEY]),
    metadataTenant: typeof tenant === 'string' ? tenant : null,
  };
}

/** The PaymentIntent's ID, where at least that can be read: enough to fetch the object. */
export function readPaymentId(object: unknown): string | null {
  const parsed = z.object({ id: z.string().regex(/^pi_[A-Za-z0-9_]{1,250}$/) }).safeParse(object);
  return parsed.success ? parsed.data.id : null;
}

/** `data.object` of a snapshot event; undefined where the envelope has none. */
export function readEventObject(payload: unknown): unknown {
  const parsed = z.object({ data: z.object({ object: z.unknown() }) }).safeParse(payload);
  return parsed.success ? parsed.data.data.object : undefined;
}

function readOrderReference(value: unknown): OrderReference {
  if (value === undefined || value === null) return { kind: 'none' };
  if (typeof value !== 'string' || value === '' || value.length > MAX_ORDER_ID_LENGTH || value.includes('\u0000')) {
    return { kind: 'malformed' };
  }
  return { kind: 'order', id: value };
}

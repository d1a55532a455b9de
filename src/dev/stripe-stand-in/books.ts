import { randomBytes } from 'node:crypto';

/** Stripe's objects with the fields that oncehook and its tests read; names are Stripe's own. */
export interface PaymentIntent {
  readonly id: string;
  readonly object: 'payment_intent';
  readonly amount: number;
  amount_capturable: number;
  amount_received: number;
  readonly capture_method: 'automatic_async' | 'manual';
  readonly created: number;
  readonly currency: string;
  latest_charge: string | null;
  readonly livemode: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  status:
    'requires_payment_method' | 'requires_confirmation' | 'requires_capture' | 'processing' | 'succeeded' | 'canceled';
  cancellation_reason: string | null;
  payment_method: string | null;
}

export interface Charge {
  readonly id: string;
  readonly object: 'charge';
  readonly amount: number;
  amount_captured: number;
  amount_refunded: number;
  captured: boolean;
  readonly created: number;
  readonly currency: string;
  disputed: boolean;
  readonly livemode: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly payment_intent: string;
  refunded: boolean;
  readonly status: 'succeeded' | 'failed';
}

export type RefundStatus = 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled';

export interface Refund {
  readonly id: string;
  readonly object: 'refund';
  readonly amount: number;
  readonly charge: string;
  readonly created: number;
  readonly currency: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly payment_intent: string;
  readonly reason: string | null;
  status: RefundStatus;
  failure_reason?: string;
}

export interface Dispute {
  readonly id: string;
  readonly object: 'dispute';
  readonly amount: number;
  readonly charge: string;
  readonly created: number;
  readonly currency: string;
  readonly livemode: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly payment_intent: string;
  readonly reason: string;
  status: string;
}

export interface StripeEvent {
  readonly id: string;
  readonly object: 'event';
  readonly type: string;
  readonly api_version: string;
  readonly created: number;
  readonly livemode: boolean;
  readonly account?: string;
  readonly pending_webhooks: number;
  readonly request: { readonly id: string | null; readonly idempotency_key: string | null };
  readonly data: { readonly object: unknown };
}

/** All that one account has in one mode, newest last. */
export interface Books {
  readonly account: string | null;
  readonly livemode: boolean;
  readonly paymentIntents: Map<string, PaymentIntent>;
  readonly charges: Map<string, Charge>;
  readonly refunds: Map<string, Refund>;
  readonly disputes: Map<string, Dispute>;
  readonly events: Map<string, StripeEvent>;
}

export function openBooks(account: string | null, livemode: boolean): Books {
  return {
    account,
    livemode,
    paymentIntents: new Map(),
    charges: new Map(),
    refunds: new Map(),
    disputes: new Map(),
    events: new Map(),
  };
}

export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}

/** What of a captured charge is neither given back nor on its way back. */
export function refundable(books: Books, charge: Charge): number {
  let left = charge.amount_captured;
  for (const refund of books.refunds.values()) {
    if (refund.charge === charge.id && refund.status !== 'failed' && refund.status !== 'canceled')
      left -= refund.amount;
  }
  return left;
}

/** Brings the charge's cumulative fields up to its refunds. */
export function recount(books: Books, charge: Charge): void {
  charge.amount_refunded = charge.amount_captured - refundable(books, charge);
  charge.refunded = charge.amount_captured > 0 && charge.amount_refunded === charge.amount_captured;
}

/** A page of a list, newest first, as Stripe's list endpoints give it. */
export function page(
  objects: readonly { readonly id: string }[],
  url: string,
  { limit, startingAfter }: { readonly limit: number; readonly startingAfter: string | null },
): unknown {
  const newestFirst = objects.toReversed();
  const from = startingAfter === null ? 0 : newestFirst.findIndex(({ id }) => id === startingAfter) + 1;
  const data = newestFirst.slice(from, from + limit);
  return { object: 'list', url, data, has_more: from + limit < newestFirst.length };
}

import type { DisputeMovement, DisputeStatus, RefundStatus } from './order-case.js';

/** The reference to an order that the application put on an object; not yet known to be one of ours. */
export type OrderReference =
  | { readonly kind: 'order'; readonly id: string }
  | { readonly kind: 'none' }
  /** There is one, and it cannot be an order ID: an object, empty, or longer than any. */
  | { readonly kind: 'malformed' };

/** What the application wrote on an object (its metadata). */
export interface About {
  readonly reference: OrderReference;
  /** A tenant named there: never used to find one, only to refuse a contradiction. */
  readonly tenant: string | null;
  /** Whether it carries what marks an object as ours in an account that others use too; true where nobody else does. */
  readonly isOurs: boolean;
}

/** What a PaymentIntent says. Which of Stripe's `requires_*` it waits in decides nothing, except that an attempt failed. */
export type PaymentState =
  'open' | 'failed' | 'partially_funded' | 'processing' | 'authorized' | 'succeeded' | 'canceled';

export interface PaymentFact {
  readonly kind: 'payment';
  readonly about: About;
  readonly paymentId: string;
  readonly chargeId: string | null;
  readonly state: PaymentState;
  /** What was captured, in minor units; 0 unless it succeeded. */
  readonly receivedMinor: number;
  readonly capturableMinor: number;
  /** Lower case. */
  readonly currency: string;
}

/** What a Checkout Session says. */
export interface SessionFact {
  readonly kind: 'session';
  readonly about: About;
  readonly sessionId: string;
  /** Absent until the customer pays, and for sessions that take no payment. */
  readonly paymentId: string | null;
  readonly state: 'open' | 'paid' | 'unpaid' | 'failed' | 'free' | 'expired';
  /** After discounts, tax and shipping. */
  readonly totalMinor: number;
  readonly currency: string;
}

export interface RefundFact {
  readonly kind: 'refund';
  readonly refundId: string;
  readonly paymentId: string | null;
  readonly chargeId: string | null;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: RefundStatus;
  /** Stripe's own release of a hold that ran out; no money moves. */
  readonly isExpiredHold: boolean;
  /** Ours, if we made it. */
  readonly operationId: string | null;
}

/** `charge.refunded`: that something was refunded, and how much in all; never how. */
export interface RefundedChargeFact {
  readonly kind: 'refundedCharge';
  readonly paymentId: string | null;
  readonly chargeId: string;
  readonly refundedMinor: number;
  readonly currency: string;
}

export interface DisputeFact {
  readonly kind: 'dispute';
  readonly disputeId: string;
  readonly paymentId: string | null;
  readonly chargeId: string | null;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: DisputeStatus;
  readonly movements: readonly DisputeMovement[];
}

export type Fact = PaymentFact | SessionFact | RefundFact | RefundedChargeFact | DisputeFact;

/** What looking at the provider brought. */
export type Look<Value> =
  | { readonly kind: 'unasked' }
  | { readonly kind: 'found'; readonly value: Value }
  | { readonly kind: 'missing' }
  /** Nobody can be asked: the source has no API key. */
  | { readonly kind: 'unavailable' }
  /** It came, and does not read as what it should be. */
  | { readonly kind: 'unreadable' };

/** The provider's objects as far as they were fetched for this event; a decision that needs more asks for it. */
export interface Looks {
  /** A charge, for the payment that it belongs to; `null` for one without. */
  readonly charge: (id: string) => Look<string | null>;
  readonly payment: (id: string) => Look<PaymentFact>;
  readonly session: (id: string) => Look<SessionFact>;
  readonly refund: (id: string) => Look<RefundFact>;
  readonly refundsOf: (paymentId: string) => Look<readonly RefundFact[]>;
  readonly dispute: (id: string) => Look<DisputeFact>;
}

import type { PaymentFact } from './payment-fact.js';

export type OrderStatus =
  'awaiting_payment' | 'processing' | 'authorized' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled';

/** An order as it stands under its lock. */
export interface Order {
  readonly id: string;
  readonly status: OrderStatus;
  readonly providerPaymentId: string | null;
  readonly totalMinor: number;
  readonly capturedMinor: number;
  readonly currency: string;
  readonly holdReason: string | null;
  readonly customerEmail: string | null;
}

/** Why the guarded transition to paid matched no row; never assumed, always read from the locked order. */
export type UnpaidVerdict =
  | { readonly kind: 'duplicate' }
  /** The payment's amount contradicts what is stored; the provider's own word decides. */
  | { readonly kind: 'ask' }
  | { readonly kind: 'quarantine'; readonly reason: UnpaidReason };

export type UnpaidReason =
  'currency_mismatch' | 'order_on_hold' | 'second_payment' | 'late_payment' | 'underpaid' | 'overpaid';

/**
 * Classifies a succeeded payment that did not move its order to paid. Exhaustive over order status; the checks go from
 * what makes the fact unusable to what merely repeats it.
 */
export function classifyUnpaid(order: Order, fact: PaymentFact): UnpaidVerdict {
  if (order.currency !== fact.currency) return { kind: 'quarantine', reason: 'currency_mismatch' };
  if (order.providerPaymentId !== fact.paymentId) return { kind: 'quarantine', reason: 'second_payment' };
  switch (order.status) {
    case 'paid':
    case 'partially_refunded':
    case 'refunded':
      return order.capturedMinor === fact.amountMinor ? { kind: 'duplicate' } : { kind: 'ask' };
    case 'canceled':
      return { kind: 'quarantine', reason: 'late_payment' };
    case 'awaiting_payment':
    case 'processing':
    case 'authorized':
      if (order.holdReason !== null) return { kind: 'quarantine', reason: 'order_on_hold' };
      return { kind: 'quarantine', reason: fact.amountMinor < order.totalMinor ? 'underpaid' : 'overpaid' };
  }
}

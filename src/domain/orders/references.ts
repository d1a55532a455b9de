import type { FetchReference } from '../outcome.js';

/** Objects that a decision may ask the provider for, by the names that Stripe gives them in `object`. */
export function paymentReference(id: string): FetchReference {
  return { type: 'payment_intent', id };
}

export function sessionReference(id: string): FetchReference {
  return { type: 'checkout.session', id };
}

export function refundReference(id: string): FetchReference {
  return { type: 'refund', id };
}

/** Every refund of a payment: not an object of Stripe's but a list of them, whole. */
export function refundsReference(paymentId: string): FetchReference {
  return { type: 'refunds_of_payment', id: paymentId };
}

export function disputeReference(id: string): FetchReference {
  return { type: 'dispute', id };
}

export function chargeReference(id: string): FetchReference {
  return { type: 'charge', id };
}

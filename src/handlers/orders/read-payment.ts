import { z } from 'zod';
import type { PaymentFact, PaymentState } from '../../domain/orders/facts.js';
import { amount, currency, linkedId, metadata, objectId, readAbout, type Owns } from './fields.js';

/**
 * A PaymentIntent as far as orders read it (Stripe API, object payment_intent). `amount_received` is the captured
 * amount; old API versions and stand-ins lack it.
 */
const paymentIntent = z.object({
  id: objectId,
  object: z.literal('payment_intent'),
  status: z.enum([
    'requires_payment_method',
    'requires_confirmation',
    'requires_action',
    'processing',
    'requires_capture',
    'canceled',
    'succeeded',
  ]),
  amount,
  amount_received: amount.optional(),
  amount_capturable: amount.optional(),
  capture_method: z.string().nullish(),
  currency,
  latest_charge: linkedId,
  metadata,
});

/** What an event's type adds to a PaymentIntent that waits for the customer. */
export type OpenState = Extract<PaymentState, 'open' | 'failed' | 'partially_funded'>;

/** Reads a PaymentIntent; `null` when it is not one that can be acted on. */
export function readPayment(object: unknown, owns: Owns, openState: OpenState = 'open'): PaymentFact | null {
  const parsed = paymentIntent.safeParse(object);
  if (!parsed.success) return null;
  const payment = parsed.data;
  const state = stateOf(payment.status, openState);
  const receivedMinor = state === 'succeeded' ? receivedOf(payment) : 0;
  if (receivedMinor === null) return null;
  return {
    kind: 'payment',
    about: readAbout(payment.metadata, owns),
    paymentId: payment.id,
    chargeId: payment.latest_charge,
    state,
    receivedMinor,
    capturableMinor: state === 'authorized' ? (payment.amount_capturable ?? payment.amount) : 0,
    currency: payment.currency,
  };
}

/** Without `amount_received`, the amount stands for it unless capture is manual and may have been partial. */
function receivedOf(payment: z.output<typeof paymentIntent>): number | null {
  if (payment.amount_received !== undefined) return payment.amount_received;
  return payment.capture_method === 'manual' ? null : payment.amount;
}

function stateOf(status: z.output<typeof paymentIntent>['status'], openState: OpenState): PaymentState {
  switch (status) {
    case 'requires_payment_method':
    case 'requires_confirmation':
    case 'requires_action':
      return openState;
    case 'requires_capture':
      return 'authorized';
    case 'processing':
    case 'canceled':
    case 'succeeded':
      return status;
  }
}

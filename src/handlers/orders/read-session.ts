import { z } from 'zod';
import type { SessionFact } from '../../domain/orders/facts.js';
import { amount, currency, linkedId, metadata, objectId, readAbout, type Owns } from './fields.js';

/** A Checkout Session as far as orders read it (Stripe API, object checkout.session). */
const checkoutSession = z.object({
  id: objectId,
  object: z.literal('checkout.session'),
  mode: z.string().nullish(),
  status: z.enum(['open', 'complete', 'expired']),
  payment_status: z.enum(['paid', 'unpaid', 'no_payment_required']),
  amount_total: amount,
  currency,
  payment_intent: linkedId,
  metadata,
});

/** @returns `null` when it cannot be read. `outcome` is what the event's type adds: that a delayed payment failed. */
export function readSession(object: unknown, owns: Owns, outcome: 'failed' | null = null): SessionFact | null {
  const parsed = checkoutSession.safeParse(object);
  if (!parsed.success) return null;
  const session = parsed.data;
  return {
    kind: 'session',
    about: readAbout(session.metadata, owns),
    sessionId: session.id,
    paymentId: session.payment_intent,
    state: outcome !== null && session.payment_status === 'unpaid' ? outcome : stateOf(session),
    totalMinor: session.amount_total,
    currency: session.currency,
  };
}

function stateOf({ status, payment_status: paymentStatus }: z.output<typeof checkoutSession>): SessionFact['state'] {
  if (status === 'expired') return 'expired';
  switch (paymentStatus) {
    case 'paid':
      return 'paid';
    case 'no_payment_required':
      return status === 'open' ? 'open' : 'free';
    case 'unpaid':
      return status === 'open' ? 'open' : 'unpaid';
  }
}

const paymentless = z.object({ mode: z.enum(['setup', 'subscription']) });

/** Sessions that set something up or subscribe take no payment for an order. */
export function takesPayment(object: unknown): boolean {
  return !paymentless.safeParse(object).success;
}

import { randomBytes } from 'node:crypto';

/** A snapshot event as Stripe sends it; `data.object` is the object as it was when the event was made. */
export interface StripeEnvelope {
  readonly id: string;
  readonly object: 'event';
  readonly api_version: string;
  /** Unix time in seconds. */
  readonly created: number;
  readonly livemode: boolean;
  readonly pending_webhooks: number;
  readonly request: { readonly id: string | null; readonly idempotency_key: string | null };
  readonly type: string;
  /** The connected account, in events of Connect. */
  readonly account?: string;
  readonly data: { readonly object: Readonly<Record<string, unknown>>; readonly previous_attributes?: unknown };
}

/** What Stripe's versions look like; handlers should not depend on it. */
const API_VERSION = '2025-03-31.basil';

/**
 * A realistic envelope of Stripe around `object`, of test mode, under a fresh ID. The object's `object` field follows
 * from the event's type where that is told (`payment_intent.succeeded` is about a `payment_intent`).
 */
export function stripeEvent(
  type: string,
  object: Readonly<Record<string, unknown>>,
  overrides: Partial<Omit<StripeEnvelope, 'type' | 'object'>> = {},
): StripeEnvelope {
  return {
    id: `evt_${randomBytes(12).toString('hex')}`,
    object: 'event',
    api_version: API_VERSION,
    created: Math.floor(Date.now() / 1000),
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
    data: { object: { object: objectOf(type), livemode: false, metadata: {}, ...object } },
    ...overrides,
  };
}

/** Everything before the last dot, except that disputes and sessions have names of their own. */
function objectOf(type: string): string {
  if (type.startsWith('charge.dispute.')) return 'dispute';
  if (type.startsWith('charge.refund.')) return 'refund';
  if (type.startsWith('checkout.session.')) return 'checkout.session';
  if (type.startsWith('customer.subscription.')) return 'subscription';
  return type.split('.').slice(0, -1).join('.') || type;
}

import { z } from 'zod';
import type { Fact } from '../../domain/orders/facts.js';
import {
  chargeReference,
  disputeReference,
  paymentReference,
  refundReference,
  sessionReference,
} from '../../domain/orders/references.js';
import type { FetchReference, WebhookEvent } from '../../api/index.js';
import type { Owns } from './fields.js';
import { readDispute } from './read-dispute.js';
import { readPayment } from './read-payment.js';
import { readRefund, readRefundedCharge } from './read-refund.js';
import { readSession, takesPayment } from './read-session.js';

/** How a type's object is read, and where it is fetched when it does not decode. */
interface FactType {
  readonly read: (object: unknown, owns: Owns, requestKey: string | null) => Fact | null;
  readonly reference: (id: string) => FetchReference;
}

const payment: FactType = { read: paymentIn('open'), reference: paymentReference };
const session: FactType = { read: (object, owns) => readSession(object, owns), reference: sessionReference };
const refund: FactType = { read: (object) => readRefund(object), reference: refundReference };
const dispute: FactType = { read: readDispute, reference: disputeReference };

/** The event types of the orders set (docs/order-state.md). */
export const FACT_TYPES: ReadonlyMap<string, FactType> = new Map<string, FactType>([
  ['payment_intent.created', payment],
  ['payment_intent.processing', payment],
  ['payment_intent.requires_action', payment],
  ['payment_intent.succeeded', payment],
  ['payment_intent.payment_failed', { ...payment, read: paymentIn('failed') }],
  ['payment_intent.canceled', payment],
  ['payment_intent.amount_capturable_updated', payment],
  ['payment_intent.partially_funded', { ...payment, read: paymentIn('partially_funded') }],
  ['checkout.session.completed', session],
  ['checkout.session.async_payment_succeeded', session],
  [
    'checkout.session.async_payment_failed',
    { ...session, read: (object, owns) => readSession(object, owns, 'failed') },
  ],
  ['checkout.session.expired', session],
  ['charge.refunded', { read: readRefundedCharge, reference: chargeReference }],
  // The request that made a refund is told by this event only; an update's request is another.
  ['refund.created', { ...refund, read: (object, _owns, requestKey) => readRefund(object, requestKey) }],
  ['refund.updated', refund],
  ['refund.failed', refund],
  ['charge.refund.updated', refund],
  ['charge.dispute.created', dispute],
  ['charge.dispute.updated', dispute],
  ['charge.dispute.closed', dispute],
  ['charge.dispute.funds_withdrawn', dispute],
  ['charge.dispute.funds_reinstated', dispute],
]);

export type ReadFact =
  | { readonly kind: 'fact'; readonly fact: Fact }
  | { readonly kind: 'fetch'; readonly reference: FetchReference }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'notAPayment' };

/** The fact as the event tells it, else as the provider does: what does not decode is fetched by its ID. */
export function readFact(event: WebhookEvent, type: FactType, owns: Owns): ReadFact {
  const { object, requestKey } = readEnvelope(event.payload);
  if (type.reference === sessionReference && !takesPayment(object)) return { kind: 'notAPayment' };
  const fact = type.read(object, owns, requestKey);
  if (fact !== null) return { kind: 'fact', fact };
  const id = readId(object);
  if (id === null) return { kind: 'unreadable' };
  const reference = type.reference(id);
  const fetched = event.fetched(reference);
  if (fetched === undefined) return { kind: 'fetch', reference };
  const read = fetched.kind === 'found' ? type.read(fetched.object, owns, null) : null;
  return read === null ? { kind: 'unreadable' } : { kind: 'fact', fact: read };
}

function paymentIn(openState: 'open' | 'failed' | 'partially_funded'): FactType['read'] {
  return (object, owns) => readPayment(object, owns, openState);
}

const envelope = z.object({
  data: z.object({ object: z.unknown() }),
  request: z.object({ idempotency_key: z.string().nullish() }).nullish().catch(null),
});

/** `data.object` of a snapshot event, and the idempotency key of the request that caused it. */
function readEnvelope(payload: unknown): { readonly object: unknown; readonly requestKey: string | null } {
  const parsed = envelope.safeParse(payload);
  if (!parsed.success) return { object: undefined, requestKey: null };
  return { object: parsed.data.data.object, requestKey: parsed.data.request?.idempotency_key ?? null };
}

/** An ID becomes part of a URL, so its form is closed. */
const identified = z.object({ id: z.string().regex(/^[a-z]{2,6}_[A-Za-z0-9_]{1,240}$/) });

/** Where at least the ID can be read: enough to fetch the object. */
function readId(object: unknown): string | null {
  const parsed = identified.safeParse(object);
  return parsed.success ? parsed.data.id : null;
}

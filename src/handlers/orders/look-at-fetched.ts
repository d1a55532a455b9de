import type { Look, Looks } from '../../domain/orders/facts.js';
import {
  chargeReference,
  disputeReference,
  paymentReference,
  refundReference,
  refundsReference,
  sessionReference,
} from '../../domain/orders/references.js';
import type { FetchReference, WebhookEvent } from '../../api/index.js';
import type { Owns } from './fields.js';
import { readDispute } from './read-dispute.js';
import { readPayment } from './read-payment.js';
import { readPaymentOfCharge, readRefund, readRefundList } from './read-refund.js';
import { readSession } from './read-session.js';

/** What was fetched for an event, read like what comes in events. */
export function looksOf(event: Pick<WebhookEvent, 'fetched'>, owns: Owns): Looks {
  function look<Value>(reference: FetchReference, read: (object: unknown) => Value | null | undefined): Look<Value> {
    const fetched = event.fetched(reference);
    switch (fetched?.kind) {
      case undefined:
        return { kind: 'unasked' };
      case 'missing':
      case 'unavailable':
        return { kind: fetched.kind };
      case 'found': {
        const value = read(fetched.object);
        return value === null || value === undefined ? { kind: 'unreadable' } : { kind: 'found', value };
      }
    }
  }
  return {
    payment: (id) => look(paymentReference(id), (object) => readPayment(object, owns)),
    session: (id) => look(sessionReference(id), (object) => readSession(object, owns)),
    refund: (id) => look(refundReference(id), readRefund),
    refundsOf: (id) => look(refundsReference(id), readRefundList),
    dispute: (id) => look(disputeReference(id), readDispute),
    charge: (id) => lookAtCharge(event, id),
  };
}

/** Here `null` is an answer: a charge without a payment. */
function lookAtCharge(event: Pick<WebhookEvent, 'fetched'>, id: string): Look<string | null> {
  const fetched = event.fetched(chargeReference(id));
  if (fetched === undefined) return { kind: 'unasked' };
  if (fetched.kind !== 'found') return { kind: fetched.kind };
  const paymentId = readPaymentOfCharge(fetched.object);
  return paymentId === undefined ? { kind: 'unreadable' } : { kind: 'found', value: paymentId };
}

import type { FetchReference } from '../outcome.js';
import { fetch, quarantine, wait, type Circumstances, type Decision } from './decision.js';
import { decideDispute } from './decide-dispute.js';
import { decidePayment } from './decide-payment.js';
import { decideRefund, decideRefundedCharge } from './decide-refund.js';
import { decideSession } from './decide-session.js';
import type { About, DisputeFact, Fact, RefundedChargeFact, RefundFact } from './facts.js';
import type { OrderCase } from './order-case.js';
import { chargeReference, paymentReference, sessionReference } from './references.js';

/** Where a fact belongs, as far as our own rows and what was fetched tell. */
export type Located =
  | { readonly kind: 'case'; readonly orderCase: OrderCase; readonly paymentId: string | null }
  /** The payment is known, and its order is another tenant's than the one that this source speaks for. */
  | { readonly kind: 'otherTenant' }
  /** `paymentId` is what the fact's charge or its own field named, if anything did. */
  | { readonly kind: 'nowhere'; readonly paymentId: string | null };

/**
 * What a fact means for its order: the gates first, then the table of its kind. Pure: the same case, fact and looks give
 * the same decision. What it asks for (`fetch`, `wait`) is found in `circumstances.looks` the next time.
 */
export function decide(located: Located, fact: Fact, circumstances: Circumstances): Decision {
  if (located.kind === 'otherTenant') return quarantine('account_mismatch');
  const about = 'about' in fact ? fact.about : null;
  if (about !== null && contradictsTenant(about, circumstances.tenant)) {
    return quarantine('account_mismatch');
  }
  if (located.kind === 'case') return decideInCase(located.orderCase, fact, located.paymentId, circumstances);
  switch (fact.kind) {
    case 'payment':
      return decideUnknown(fact.about, paymentReference(fact.paymentId));
    case 'session':
      return decideUnknown(fact.about, sessionReference(fact.sessionId));
    case 'refund':
      // The release of a hold moves no money, so it need not wait for an order.
      if (fact.isExpiredHold) return { kind: 'ignore', reason: 'expired_hold' };
      return decideWithoutOrder(fact, located.paymentId, circumstances);
    case 'refundedCharge':
    case 'dispute':
      return decideWithoutOrder(fact, located.paymentId, circumstances);
  }
}

function decideInCase(
  orderCase: OrderCase,
  fact: Fact,
  paymentId: string | null,
  circumstances: Circumstances,
): Decision {
  switch (fact.kind) {
    case 'payment':
      return decidePayment(orderCase, fact, circumstances);
    case 'session':
      return decideSession(orderCase, fact, circumstances);
    case 'refund':
    case 'refundedCharge':
    case 'dispute': {
      // An order is found for these by their payment only.
      if (paymentId === null) return quarantine('unknown_order');
      return decideOnPayment(orderCase, fact, paymentId, circumstances);
    }
  }
}

function decideOnPayment(
  orderCase: OrderCase,
  fact: RefundFact | RefundedChargeFact | DisputeFact,
  paymentId: string,
  circumstances: Circumstances,
): Decision {
  switch (fact.kind) {
    case 'refund':
      return decideRefund(orderCase, { ...fact, paymentId }, circumstances);
    case 'refundedCharge':
      return decideRefundedCharge(orderCase, { ...fact, paymentId }, circumstances);
    case 'dispute':
      return decideDispute(orderCase, { ...fact, paymentId }, circumstances);
  }
}

/** A tenant is never found by metadata; one that is named there must be the source's. */
function contradictsTenant(about: About, tenant: string): boolean {
  return about.tenant !== null && about.tenant !== tenant;
}

/** No order of ours has this payment, so what the application wrote on it decides. */
function decideUnknown({ isOurs, reference }: About, awaited: FetchReference): Decision {
  if (!isOurs) return { kind: 'ignore', reason: 'foreign' };
  switch (reference.kind) {
    case 'none':
      return quarantine('unknown_order');
    case 'malformed':
      return quarantine('malformed_order_id');
    case 'order':
      return wait('unknown_order', awaited, reference.id);
  }
}

/** Refunds and disputes carry no reference of ours; their payment does, and may not have been told of yet. */
function decideWithoutOrder(
  fact: RefundFact | RefundedChargeFact | DisputeFact,
  paymentId: string | null,
  { looks, account, patience, tenant }: Circumstances,
): Decision {
  if (paymentId === null) return decideWithoutPayment(fact.chargeId, looks.charge);
  const reference = paymentReference(paymentId);
  const look = looks.payment(paymentId);
  switch (look.kind) {
    case 'unasked':
      return account === 'shared' || patience === 'spent' ? fetch(reference) : wait('unknown_payment', reference);
    case 'found': {
      const { about } = look.value;
      if (contradictsTenant(about, tenant)) return quarantine('account_mismatch');
      return decideUnknown(about, reference);
    }
    case 'missing':
    case 'unavailable':
    case 'unreadable':
      return wait('unknown_payment', reference);
  }
}

function decideWithoutPayment(chargeId: string | null, charge: Circumstances['looks']['charge']): Decision {
  if (chargeId === null) return quarantine('schema');
  const look = charge(chargeId);
  switch (look.kind) {
    case 'unasked':
      return fetch(chargeReference(chargeId));
    case 'unavailable':
      return wait('unknown_payment', chargeReference(chargeId));
    case 'found':
    case 'missing':
    case 'unreadable':
      // A charge without a payment is not from an integration that names orders by PaymentIntents.
      return quarantine('unknown_order');
  }
}

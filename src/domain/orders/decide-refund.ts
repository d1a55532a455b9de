import {
  andThen,
  applied,
  duplicate,
  fetch,
  ignored,
  quarantine,
  quarantineAndHold,
  superseded,
  wait,
  type Circumstances,
  type Decision,
} from './decision.js';
import { decidePayment } from './decide-payment.js';
import { refundFailedMail, refundSucceededMail } from './effects.js';
import type { Look, RefundedChargeFact, RefundFact } from './facts.js';
import {
  isActive,
  paymentOf,
  withOrder,
  withRefund,
  type OrderCase,
  type Payment,
  type Refund,
  type RefundOperation,
  type RefundStatus,
} from './order-case.js';
import { paymentReference, refundReference, refundsReference } from './references.js';
import { isFrozen, settleOrder } from './settle-order.js';

/** The table of refund facts. Status and amount of a refund are its own; what the order is worth is computed from all. */
export function decideRefund(
  orderCase: OrderCase,
  fact: RefundFact & { readonly paymentId: string },
  circumstances: Circumstances,
): Decision {
  if (fact.isExpiredHold) return ignored(orderCase);
  if (fact.currency !== orderCase.order.currency) return quarantine('currency_mismatch');
  return onSettledPayment(orderCase, fact.paymentId, circumstances, (settled, payment) =>
    recordWithinCaptured(settled, payment, fact, circumstances),
  );
}

/** `charge.refunded` only says that there is something to look at: its sum is cumulative and may be the older news. */
export function decideRefundedCharge(
  orderCase: OrderCase,
  fact: RefundedChargeFact & { readonly paymentId: string },
  circumstances: Circumstances,
): Decision {
  if (fact.currency !== orderCase.order.currency) return quarantine('currency_mismatch');
  return onSettledPayment(orderCase, fact.paymentId, circumstances, (settled, payment) => {
    const list = circumstances.looks.refundsOf(fact.paymentId);
    switch (list.kind) {
      case 'unasked':
        return fetch(refundsReference(fact.paymentId));
      case 'found':
        return recordAll(settled, payment, list.value, circumstances);
      case 'missing':
        return quarantine('object_missing');
      case 'unreadable':
        return quarantine('schema');
      case 'unavailable':
        // Nobody to ask: the refunds' own events are waited for.
        return activeMinor(settled, payment) >= fact.refundedMinor
          ? duplicate(settled)
          : wait('refund_not_listed', null);
    }
  });
}

/**
 * A refund stands on a payment that is known to have succeeded. One that comes before it waits a little, then the
 * provider's word on the payment is applied together with the refund.
 */
function onSettledPayment(
  orderCase: OrderCase,
  paymentId: string,
  circumstances: Circumstances,
  decide: (settled: OrderCase, payment: Payment) => Decision,
): Decision {
  const payment = paymentOf(orderCase, paymentId);
  if (payment?.status === 'succeeded') return decide(orderCase, payment);
  const reference = paymentReference(paymentId);
  const look = circumstances.looks.payment(paymentId);
  switch (look.kind) {
    case 'unasked':
      return circumstances.patience === 'spent' ? fetch(reference) : wait('refund_before_payment', reference);
    case 'found': {
      if (look.value.state !== 'succeeded') return quarantine('refund_before_payment');
      return andThen(decidePayment(orderCase, look.value, circumstances), (next) => {
        const settled = paymentOf(next, paymentId);
        return settled?.status === 'succeeded' ? decide(next, settled) : quarantine('refund_before_payment');
      });
    }
    case 'unreadable':
      return quarantine('schema');
    case 'missing':
    case 'unavailable':
      return wait('refund_before_payment', reference);
  }
}

function record(orderCase: OrderCase, payment: Payment, fact: RefundFact, circumstances: Circumstances): Decision {
  const known = orderCase.refunds.find(({ refundId }) => refundId === fact.refundId);
  const operationKey = known?.operationKey ?? ownOperation(orderCase, fact)?.operationKey ?? null;
  if (contradicts(orderCase, payment, fact, known)) return conflict(orderCase, payment);
  const { refundId, amountMinor, currency, status } = fact;
  const row: Refund = {
    refundId,
    paymentId: payment.paymentId,
    amountMinor,
    currency,
    status,
    everSucceeded: status === 'succeeded' || known?.everSucceeded === true,
    operationKey,
  };
  if (known === undefined) return move(orderCase, undefined, row, circumstances);
  if (known.status === status) return settledAgain(orderCase, known, row);
  if (mayBecome(known.status, status) && !isSideways(known.status, status)) {
    return move(orderCase, known, row, circumstances);
  }
  return askAboutRefund(orderCase, payment, { known, row }, circumstances);
}

/** An older fact, most likely: applied only where the provider says that it is the newer one. */
function askAboutRefund(
  orderCase: OrderCase,
  payment: Payment,
  { known, row }: { readonly known: Refund; readonly row: Refund },
  circumstances: Circumstances,
): Decision {
  const look = circumstances.looks.refund(known.refundId);
  if (look.kind === 'unasked') return fetch(refundReference(known.refundId));
  const unasked = mayBecome(known.status, row.status) ? row.status : known.status;
  const status = look.kind === 'found' ? look.value.status : unasked;
  // Whatever it is now: that it succeeded once is worth keeping.
  const remembered = { ...row, status: known.status, everSucceeded: row.everSucceeded || status === 'succeeded' };
  if (status !== known.status) {
    if (!mayBecome(known.status, status)) return conflict(orderCase, payment);
    return move(orderCase, known, { ...remembered, status }, circumstances);
  }
  return remembered.everSucceeded === known.everSucceeded
    ? superseded(orderCase)
    : move(orderCase, known, remembered, circumstances);
}

/** Writes the row and tells people, once: what the row said before decides what is news. */
function move(orderCase: OrderCase, known: Refund | undefined, row: Refund, circumstances: Circumstances): Decision {
  const { order } = orderCase;
  const isBack = row.everSucceeded && !isActive(row);
  const wasBack = known !== undefined && known.everSucceeded && !isActive(known);
  const holdReason = isBack && !wasBack ? (order.holdReason ?? 'refund_failed') : order.holdReason;
  const next = settleOrder(withOrder(withRefund(orderCase, row), { holdReason }));
  if (isFrozen(order.holdReason)) return { kind: 'quarantine', reason: 'order_on_hold', keep: next };
  if (row.status === known?.status) return applied(next);
  if (row.status === 'succeeded') return applied(next, ...refundSucceededMail(circumstances, order, row));
  if (row.status === 'failed') return applied(next, ...refundFailedMail(circumstances, order, row));
  return applied(next);
}

/** Equal to what is stored; what else it tells (our operation), or what a released hold left undone, is caught up on. */
function settledAgain(orderCase: OrderCase, known: Refund, row: Refund): Decision {
  const linked = known.operationKey === row.operationKey ? orderCase : withRefund(orderCase, row);
  const next = settleOrder(linked);
  return next === orderCase ? duplicate(orderCase) : applied(next);
}

/** Nothing leaves `failed` and `canceled`, and money that was given back can only come back. */
function mayBecome(from: RefundStatus, to: RefundStatus): boolean {
  switch (from) {
    case 'pending':
    case 'requires_action':
      return true;
    case 'succeeded':
      return to === 'failed' || to === 'canceled';
    case 'failed':
    case 'canceled':
      return false;
  }
}

/** Either may come before the other, so the two facts do not say which is the newer. */
function isSideways(from: RefundStatus, to: RefundStatus): boolean {
  return isActive({ status: from }) && isActive({ status: to }) && to !== 'succeeded';
}

function ownOperation({ operations }: OrderCase, { operationId }: RefundFact): RefundOperation | undefined {
  return operationId === null ? undefined : operations.find((operation) => operation.operationId === operationId);
}

/** Another amount or payment than stored, than our operation asked for, or a second refund of one operation. */
function contradicts(
  orderCase: OrderCase,
  { paymentId }: Payment,
  fact: RefundFact,
  known: Refund | undefined,
): boolean {
  if (known !== undefined && (known.amountMinor !== fact.amountMinor || known.paymentId !== paymentId)) return true;
  const operation = ownOperation(orderCase, fact);
  if (operation === undefined) return false;
  if (operation.amountMinor !== fact.amountMinor || operation.paymentId !== paymentId) return true;
  return orderCase.refunds.some(
    ({ refundId, operationKey }) => operationKey === operation.operationKey && refundId !== fact.refundId,
  );
}

/** More refunded than captured: an older fact among them, if the provider's list says so; else a contradiction. */
function recordWithinCaptured(
  orderCase: OrderCase,
  payment: Payment,
  fact: RefundFact,
  circumstances: Circumstances,
): Decision {
  const decision = record(orderCase, payment, fact, circumstances);
  const next = nextOf(decision);
  if (next === null || activeMinor(next, payment) <= payment.capturedMinor) return decision;
  const list = circumstances.looks.refundsOf(payment.paymentId);
  switch (list.kind) {
    case 'unasked':
      return fetch(refundsReference(payment.paymentId));
    case 'found':
      // Then the fact itself: what it says may be over, and still be worth keeping.
      return andThen(recordAll(orderCase, payment, list.value, circumstances), (after) =>
        record(after, payment, fact, newestFrom(list.value, circumstances)),
      );
    case 'missing':
    case 'unavailable':
    case 'unreadable':
      return conflict(orderCase, payment);
  }
}

function nextOf(decision: Decision): OrderCase | null {
  if (decision.kind === 'stand') return decision.next;
  return decision.kind === 'quarantine' ? decision.keep : null;
}

/** The provider's whole list, each refund by the same rules; they are the newest there is. */
export function recordAll(
  orderCase: OrderCase,
  payment: Payment,
  facts: readonly RefundFact[],
  circumstances: Circumstances,
): Decision {
  // Those that give money back first, so that no order of the list is too much on the way.
  const ordered = [...facts].sort((a, b) => Number(isActive(a)) - Number(isActive(b)));
  const newest = newestFrom(facts, circumstances);
  const decision = ordered
    .filter(({ isExpiredHold }) => !isExpiredHold)
    .reduce<Decision>(
      (sofar, fact) => andThen(sofar, (next) => record(next, payment, fact, newest)),
      duplicate(orderCase),
    );
  if (decision.kind !== 'stand') return decision;
  return activeMinor(decision.next, payment) > payment.capturedMinor ? conflict(orderCase, payment) : decision;
}

/** What was listed need not be asked for one by one. */
function newestFrom(facts: readonly RefundFact[], circumstances: Circumstances): Circumstances {
  const refund = (id: string): Look<RefundFact> => {
    const value = facts.find(({ refundId }) => refundId === id);
    return value === undefined ? { kind: 'missing' } : { kind: 'found', value };
  };
  return { ...circumstances, looks: { ...circumstances.looks, refund } };
}

function activeMinor({ refunds }: OrderCase, { paymentId }: Payment): number {
  return refunds
    .filter((refund) => refund.paymentId === paymentId && isActive(refund))
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
}

/** Money of another payment than the order's own is no reason to stop the order. */
function conflict(orderCase: OrderCase, { role }: Pick<Payment, 'role'>): Decision {
  return role === 'bound' ? quarantineAndHold('refund_conflict', orderCase) : quarantine('refund_conflict');
}

import type { PlannedOperation } from '../outcome.js';
import {
  applied,
  duplicate,
  fetch,
  quarantine,
  quarantineAndHold,
  superseded,
  type Circumstances,
  type Decision,
} from './decision.js';
import { automaticRefund, automaticRefundKey, orderPaidMail, siblingCancels } from './effects.js';
import type { PaymentFact } from './facts.js';
import {
  isActive,
  isLive,
  isPaid,
  paymentOf,
  withOrder,
  withPayment,
  type OrderCase,
  type Payment,
} from './order-case.js';
import { storedOrNew } from './new-payment.js';
import { paymentReference, refundsReference } from './references.js';
import { isFrozen, settleOrder } from './settle-order.js';

/** Money came. Whether the order takes it, or it goes back, is decided once per payment. */
export function decideSucceeded(orderCase: OrderCase, fact: PaymentFact, circumstances: Circumstances): Decision {
  const { order } = orderCase;
  const known = paymentOf(orderCase, fact.paymentId);
  if (known !== undefined && isSettled(orderCase, known)) return decideAgain(orderCase, known, fact, circumstances);
  if (isFrozen(order.holdReason)) {
    return { kind: 'quarantine', reason: 'order_on_hold', keep: withPayment(orderCase, succeeded(orderCase, fact)) };
  }
  switch (order.status) {
    case 'awaiting_payment':
    case 'processing':
    case 'authorized':
      return decideOpenOrder(orderCase, fact, circumstances);
    case 'paid':
    case 'partially_refunded':
    case 'refunded':
      if (circumstances.policies.secondPayment === 'quarantine') return quarantine('second_payment');
      return giveBack(orderCase, fact, 'surplus', circumstances);
    case 'canceled':
      if (circumstances.policies.latePayment === 'quarantine') return quarantine('late_payment');
      return giveBack(orderCase, fact, 'late', circumstances);
  }
}

/** What became of the payment is decided: it paid the order, or goes back. */
function isSettled({ order }: OrderCase, { status, role }: Payment): boolean {
  if (status !== 'succeeded') return false;
  if (role === 'surplus' || role === 'late') return true;
  // Also of an order that somebody canceled by hand after it was paid: its money does not go back by itself.
  return role === 'bound' && (isPaid(order.status) || order.capturedMinor > 0);
}

/** The same success again, under whatever event. Another amount is an older fact or a contradiction. */
function decideAgain(orderCase: OrderCase, known: Payment, fact: PaymentFact, { looks }: Circumstances): Decision {
  if (known.capturedMinor === fact.receivedMinor) return duplicate(withCharge(orderCase, known, fact.chargeId));
  const look = looks.payment(known.paymentId);
  if (look.kind === 'unasked') return fetch(paymentReference(known.paymentId));
  const agrees =
    look.kind === 'found' &&
    look.value.state === 'succeeded' &&
    look.value.receivedMinor === known.capturedMinor &&
    look.value.currency === known.currency;
  if (agrees) return superseded(orderCase);
  return known.role === 'bound' ? quarantineAndHold('amount_conflict', orderCase) : quarantine('amount_conflict');
}

function withCharge(orderCase: OrderCase, known: Payment, chargeId: string | null): OrderCase {
  if (known.chargeId !== null || chargeId === null) return orderCase;
  return withPayment(orderCase, { ...known, chargeId });
}

function decideOpenOrder(orderCase: OrderCase, fact: PaymentFact, circumstances: Circumstances): Decision {
  if (paymentOf(orderCase, fact.paymentId)?.status === 'canceled') {
    const look = circumstances.looks.payment(fact.paymentId);
    if (look.kind === 'unasked') return fetch(paymentReference(fact.paymentId));
    if (look.kind === 'found' && look.value.state !== 'succeeded') return quarantine('contradiction');
  }
  const surplusMinor = fact.receivedMinor - orderCase.order.totalMinor;
  if (surplusMinor < 0) return quarantine('underpaid');
  if (surplusMinor === 0) return pay(orderCase, fact, circumstances, []);
  if (circumstances.policies.overpaid === 'quarantine') return quarantine('overpaid');
  const refund = refundable(orderCase, fact, 'excess', circumstances);
  if (refund.kind === 'decision') return refund.decision;
  if (refund.receivedMinor !== fact.receivedMinor) return quarantine('amount_conflict');
  const amountMinor = Math.min(surplusMinor, refund.amountMinor);
  return pay(orderCase, fact, circumstances, refundOf(orderCase, fact, 'excess', amountMinor, circumstances));
}

/** The order takes the money. It is this payment's from now on, and other payments must not take any more. */
function pay(
  orderCase: OrderCase,
  fact: PaymentFact,
  circumstances: Circumstances,
  refunds: readonly PlannedOperation[],
): Decision {
  const { order, payments } = orderCase;
  const others = payments.filter(({ paymentId }) => paymentId !== fact.paymentId);
  const paid = withOrder(
    {
      ...orderCase,
      payments: [
        ...others.map((other) => (other.role === 'bound' ? { ...other, role: 'candidate' as const } : other)),
        { ...succeeded(orderCase, fact), role: 'bound' },
      ],
    },
    { status: 'paid', providerPaymentId: fact.paymentId, capturedMinor: fact.receivedMinor },
  );
  const cancels = siblingCancels(circumstances, order, [...others.filter(isLive), ...registeredOnly(orderCase, fact)]);
  return applied(settleOrder(paid), ...orderPaidMail(circumstances, paid.order), ...cancels, ...refunds);
}

/** The payment that the application registered, when another one paid and no event has named it yet. */
function registeredOnly({ order, payments }: OrderCase, fact: PaymentFact): readonly Pick<Payment, 'paymentId'>[] {
  const { providerPaymentId } = order;
  if (providerPaymentId === null || providerPaymentId === fact.paymentId) return [];
  return payments.some(({ paymentId }) => paymentId === providerPaymentId) ? [] : [{ paymentId: providerPaymentId }];
}

/** Money that the order cannot take is recorded and refunded in full; the order stays as it is. */
function giveBack(
  orderCase: OrderCase,
  fact: PaymentFact,
  role: 'surplus' | 'late',
  circumstances: Circumstances,
): Decision {
  const refund = refundable(orderCase, fact, role, circumstances);
  if (refund.kind === 'decision') return refund.decision;
  const payment = succeeded(orderCase, { ...fact, receivedMinor: refund.receivedMinor });
  const operations = refundOf(orderCase, fact, role, refund.amountMinor, circumstances);
  return applied(settleOrder(withPayment(orderCase, { ...payment, role })), ...operations);
}

function refundOf(
  { order }: OrderCase,
  { paymentId, currency }: PaymentFact,
  purpose: 'late' | 'surplus' | 'excess',
  amountMinor: number,
  circumstances: Circumstances,
): readonly PlannedOperation[] {
  if (amountMinor <= 0) return [];
  return [automaticRefund(purpose, circumstances, { orderId: order.id, paymentId, amountMinor, currency })];
}

type Refundable =
  | { readonly kind: 'amount'; readonly receivedMinor: number; readonly amountMinor: number }
  | { readonly kind: 'decision'; readonly decision: Decision };

/**
 * What is left to refund, by the provider's own word: what it received, less what was refunded already. A refund of ours
 * that a restored database forgot does not count, so that its operation is made again with the same amount and adopts it.
 */
function refundable(
  orderCase: OrderCase,
  fact: PaymentFact,
  purpose: 'late' | 'surplus' | 'excess',
  { looks, tenant, operationIdOf }: Circumstances,
): Refundable {
  const payment = looks.payment(fact.paymentId);
  const refunds = looks.refundsOf(fact.paymentId);
  if (payment.kind === 'unasked' || refunds.kind === 'unasked') {
    return decided(fetch(paymentReference(fact.paymentId), refundsReference(fact.paymentId)));
  }
  if (payment.kind === 'unreadable' || refunds.kind === 'unreadable') return decided(quarantine('schema'));
  if (payment.kind === 'found' && payment.value.state !== 'succeeded') return decided(quarantine('contradiction'));
  const receivedMinor = payment.kind === 'found' ? payment.value.receivedMinor : fact.receivedMinor;
  const ownId = operationIdOf(automaticRefundKey(purpose, tenant, fact.paymentId));
  const made =
    refunds.kind === 'found'
      ? refunds.value.filter(({ operationId }) => operationId !== ownId)
      : orderCase.refunds.filter(({ paymentId }) => paymentId === fact.paymentId);
  const refundedMinor = made.filter(isActive).reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  return { kind: 'amount', receivedMinor, amountMinor: receivedMinor - refundedMinor };
}

function decided(decision: Decision): Refundable {
  return { kind: 'decision', decision };
}

function succeeded(orderCase: OrderCase, fact: PaymentFact): Payment {
  const payment = storedOrNew(orderCase, fact);
  return {
    ...payment,
    chargeId: payment.chargeId ?? fact.chargeId,
    status: 'succeeded',
    capturedMinor: fact.receivedMinor,
    capturableMinor: 0,
  };
}

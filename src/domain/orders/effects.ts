import { operationKey } from '../operation.js';
import type { PlannedOperation } from '../outcome.js';
import type { Circumstances } from './decision.js';
import type { Order, Payment, Refund } from './order-case.js';

type AutomaticRefund = 'late' | 'surplus' | 'excess';

/** The key of a refund that the machine decides on by itself: one per payment and cause, for ever. */
export function automaticRefundKey(purpose: AutomaticRefund, tenant: string, paymentId: string): string {
  return operationKey('refund', purpose, tenant, paymentId);
}

export function automaticRefund(
  purpose: AutomaticRefund,
  { scope, tenant }: Circumstances,
  refund: {
    readonly orderId: string;
    readonly paymentId: string;
    readonly amountMinor: number;
    readonly currency: string;
  },
): PlannedOperation {
  const { orderId, paymentId, amountMinor, currency } = refund;
  // Never `fraudulent`: that would block the customer at Stripe.
  const reason = purpose === 'surplus' ? 'duplicate' : null;
  return {
    kind: 'refund',
    key: automaticRefundKey(purpose, tenant, paymentId),
    params: { scope, paymentId, amountMinor, currency, orderId, purpose, reason },
  };
}

export function cancelPayment(
  { scope, tenant }: Circumstances,
  orderId: string,
  paymentId: string,
  reason: 'abandoned' | 'duplicate',
): PlannedOperation {
  return {
    kind: 'cancel_payment_intent',
    key: operationKey('cancel_payment_intent', tenant, paymentId),
    params: { scope, paymentId, orderId, reason },
  };
}

export function orderPaidMail({ tenant, mails }: Circumstances, order: Order): readonly PlannedOperation[] {
  if (!mails.orderPaid || order.customerEmail === null) return [];
  return [
    {
      kind: 'email',
      key: operationKey('email', 'order-paid', tenant, order.id),
      params: {
        template: 'order_paid',
        to: order.customerEmail,
        orderId: order.id,
        amountMinor: order.capturedMinor,
        currency: order.currency,
      },
    },
  ];
}

export function refundSucceededMail(
  { tenant, mails }: Circumstances,
  order: Order,
  refund: Refund,
): readonly PlannedOperation[] {
  if (!mails.refundSucceeded || order.customerEmail === null) return [];
  return [refundMail('refund-succeeded', tenant, { order, refund, to: order.customerEmail })];
}

export function refundFailedMail(
  { tenant, mails }: Circumstances,
  order: Order,
  refund: Refund,
): readonly PlannedOperation[] {
  if (mails.refundFailedTo === null) return [];
  return [refundMail('refund-failed', tenant, { order, refund, to: mails.refundFailedTo })];
}

function refundMail(
  name: 'refund-succeeded' | 'refund-failed',
  tenant: string,
  { order, refund, to }: { readonly order: Order; readonly refund: Refund; readonly to: string },
): PlannedOperation {
  return {
    kind: 'email',
    key: operationKey('email', name, tenant, refund.refundId),
    params: {
      template: name === 'refund-succeeded' ? 'refund_succeeded' : 'refund_failed',
      to,
      orderId: order.id,
      refundId: refund.refundId,
      amountMinor: refund.amountMinor,
      currency: refund.currency,
    },
  };
}

/** Payments of a paid order that could still take money: what is to be canceled. */
export function siblingCancels(
  circumstances: Circumstances,
  order: Order,
  siblings: readonly Pick<Payment, 'paymentId'>[],
): readonly PlannedOperation[] {
  return siblings.map(({ paymentId }) => cancelPayment(circumstances, order.id, paymentId, 'duplicate'));
}

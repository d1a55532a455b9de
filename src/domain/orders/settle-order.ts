import {
  isPaid,
  paymentOf,
  withOrder,
  type DisputeState,
  type DisputeStatus,
  type OrderCase,
  type OrderStatus,
} from './order-case.js';

/**
 * Computes what follows from an order's rows: what was refunded of the payment that paid it, its status once money has
 * moved, how far an unpaid one got, and its dispute state. Amounts follow the rows even under a hold; the status does
 * not while the hold says that the money is in doubt.
 */
export function settleOrder(orderCase: OrderCase): OrderCase {
  const { order } = orderCase;
  const refundedMinor = isPaid(order.status) ? refundedOfBound(orderCase) : order.refundedMinor;
  const disputeState = disputeStateOf(orderCase);
  const status = isFrozen(order.holdReason) ? order.status : statusOf(orderCase, refundedMinor);
  if (refundedMinor === order.refundedMinor && disputeState === order.disputeState && status === order.status) {
    return orderCase;
  }
  return withOrder(orderCase, { refundedMinor, disputeState, status });
}

/** A refund that failed is known money: it is back. Every other hold means that amounts contradict each other. */
export function isFrozen(holdReason: string | null): boolean {
  return holdReason !== null && holdReason !== 'refund_failed';
}

function refundedOfBound({ order, payments, refunds }: OrderCase): number {
  const bound = payments.find(({ role }) => role === 'bound');
  if (bound === undefined) return order.refundedMinor;
  return refunds
    .filter(({ paymentId, status }) => paymentId === bound.paymentId && status === 'succeeded')
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
}

function statusOf(orderCase: OrderCase, refundedMinor: number): OrderStatus {
  const { status, capturedMinor } = orderCase.order;
  switch (status) {
    case 'canceled':
      return status;
    case 'paid':
    case 'partially_refunded':
    case 'refunded':
      if (refundedMinor === 0) return 'paid';
      return refundedMinor < capturedMinor ? 'partially_refunded' : 'refunded';
    case 'awaiting_payment':
    case 'processing':
    case 'authorized':
      return unpaidStatusOf(orderCase);
  }
}

function unpaidStatusOf(orderCase: OrderCase): OrderStatus {
  const { providerPaymentId } = orderCase.order;
  const bound = providerPaymentId === null ? undefined : paymentOf(orderCase, providerPaymentId);
  switch (bound?.status) {
    case 'processing':
    case 'authorized':
      return bound.status;
    case 'open':
    case 'canceled':
    case 'succeeded':
    case undefined:
      return 'awaiting_payment';
  }
}

/** Strongest first: one open dispute counts more than others that were won. */
const STRENGTH: readonly DisputeState[] = ['open', 'lost', 'inquiry', 'won'];

function disputeStateOf({ disputes }: OrderCase): DisputeState {
  const states = disputes.map(({ status }) => stateOfDispute(status));
  return STRENGTH.find((state) => states.includes(state)) ?? 'none';
}

export function stateOfDispute(status: DisputeStatus): DisputeState {
  switch (status) {
    case 'warning_needs_response':
    case 'warning_under_review':
      return 'inquiry';
    case 'needs_response':
    case 'under_review':
    case 'appeal_needs_response':
    case 'appeal_under_review':
      return 'open';
    case 'won':
    case 'lost':
      return status;
    case 'warning_closed':
    case 'prevented':
      return 'none';
  }
}

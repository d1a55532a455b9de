export type OrderStatus =
  'awaiting_payment' | 'processing' | 'authorized' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled';

export type DisputeState = 'none' | 'inquiry' | 'open' | 'won' | 'lost';

/** Why settled money of an order is in doubt. Blocks fulfilment and refunds until an operator releases it. */
export type HoldReason = 'amount_conflict' | 'contradiction' | 'refund_conflict' | 'refund_failed';

/** Amounts are in minor units everywhere here. */
export interface Order {
  readonly id: string;
  readonly status: OrderStatus;
  /** The payment that the order is bound to: registered with it, or the first that named it, or the one that paid. */
  readonly providerPaymentId: string | null;
  readonly totalMinor: number;
  readonly currency: string;
  readonly capturedMinor: number;
  readonly refundedMinor: number;
  readonly disputeState: DisputeState;
  readonly holdReason: string | null;
  readonly customerEmail: string | null;
}

/**
 * How far a payment got. `open` stands for all of Stripe's `requires_*` before money is under way: which of them it is
 * depends on which event came last, and decides nothing here.
 */
export type PaymentStatus = 'open' | 'processing' | 'authorized' | 'succeeded' | 'canceled';

/** `surplus`: paid an order that was paid already. `late`: paid an order that was canceled. */
export type PaymentRole = 'bound' | 'candidate' | 'surplus' | 'late';

export interface Payment {
  readonly paymentId: string;
  readonly chargeId: string | null;
  readonly role: PaymentRole;
  readonly status: PaymentStatus;
  readonly capturedMinor: number;
  readonly capturableMinor: number;
  readonly currency: string;
  /** An attempt was reported to have failed; then `processing` may be the older news. */
  readonly attemptFailed: boolean;
}

export type RefundStatus = 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled';

export interface Refund {
  readonly refundId: string;
  readonly paymentId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: RefundStatus;
  /** It was reported to have succeeded, whatever became of it. */
  readonly everSucceeded: boolean;
  /** Our operation that asked for it; `null` for one that came from elsewhere (`external`). */
  readonly operationKey: string | null;
}

/** How far a dispute gets, furthest last. `lost` may still become `won` (a late win); nothing follows the last two. */
export const DISPUTE_STATUSES = [
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
  'needs_response',
  'under_review',
  'lost',
  'appeal_needs_response',
  'appeal_under_review',
  'won',
  'prevented',
] as const;

export type DisputeStatus = (typeof DISPUTE_STATUSES)[number];

/** A balance transaction of a dispute: money taken (negative) or given back (positive). */
export interface DisputeMovement {
  readonly transactionId: string;
  readonly amountMinor: number;
  readonly currency: string;
}

export interface Dispute {
  readonly disputeId: string;
  readonly paymentId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: DisputeStatus;
  /** By transaction ID, without repeats. */
  readonly movements: readonly DisputeMovement[];
}

/** A refund that was asked for and may or may not have been made; refused ones are not among them. */
export interface RefundOperation {
  readonly operationKey: string;
  /** What its refund carries as `metadata.operation_id`: the idempotency key without its generation. */
  readonly operationId: string;
  readonly paymentId: string;
  readonly amountMinor: number;
}

/** Everything stored about one order, as it stands under the order's lock. */
export interface OrderCase {
  readonly order: Order;
  readonly payments: readonly Payment[];
  readonly refunds: readonly Refund[];
  readonly disputes: readonly Dispute[];
  readonly operations: readonly RefundOperation[];
}

export function paymentOf(orderCase: OrderCase, paymentId: string): Payment | undefined {
  return orderCase.payments.find((payment) => payment.paymentId === paymentId);
}

/** The case with this payment in the place of the one of the same ID, or added. */
export function withPayment(orderCase: OrderCase, payment: Payment): OrderCase {
  return { ...orderCase, payments: replaced(orderCase.payments, payment, 'paymentId') };
}

export function withRefund(orderCase: OrderCase, refund: Refund): OrderCase {
  return { ...orderCase, refunds: replaced(orderCase.refunds, refund, 'refundId') };
}

export function withDispute(orderCase: OrderCase, dispute: Dispute): OrderCase {
  return { ...orderCase, disputes: replaced(orderCase.disputes, dispute, 'disputeId') };
}

export function withOrder(orderCase: OrderCase, change: Partial<Order>): OrderCase {
  return { ...orderCase, order: { ...orderCase.order, ...change } };
}

/** Money has been taken for the order; what it is worth now is computed from its refunds. */
export function isPaid(status: OrderStatus): boolean {
  switch (status) {
    case 'paid':
    case 'partially_refunded':
    case 'refunded':
      return true;
    case 'awaiting_payment':
    case 'processing':
    case 'authorized':
    case 'canceled':
      return false;
  }
}

/** Whether a refund takes, or may still take, its amount out of what was captured. */
export function isActive({ status }: Pick<Refund, 'status'>): boolean {
  return status === 'succeeded' || status === 'pending' || status === 'requires_action';
}

/** Money may still come, or be held for the customer, by this payment. */
export function isLive({ status }: Payment): boolean {
  return status === 'open' || status === 'processing' || status === 'authorized';
}

function replaced<Row>(rows: readonly Row[], row: Row, key: keyof Row): readonly Row[] {
  return rows.some((other) => other[key] === row[key])
    ? rows.map((other) => (other[key] === row[key] ? row : other))
    : [...rows, row];
}

import { createHash } from 'node:crypto';
import type { Circumstances, Decision } from '../../src/domain/orders/decision.js';
import type {
  About,
  DisputeFact,
  Look,
  Looks,
  PaymentFact,
  RefundFact,
  SessionFact,
} from '../../src/domain/orders/facts.js';
import type { Dispute, Order, OrderCase, OrderStatus, Payment, Refund } from '../../src/domain/orders/order-case.js';

/** One order of 42.00 USD with its payment `pi_1`; each test says what is otherwise. */
export const ABOUT: About = { reference: { kind: 'order', id: 'order_1' }, tenant: null, isOurs: true };
export const TOTAL = 4200;

export function order(change: Partial<Order> = {}): Order {
  return {
    id: 'order_1',
    status: 'awaiting_payment',
    providerPaymentId: 'pi_1',
    totalMinor: TOTAL,
    currency: 'usd',
    capturedMinor: 0,
    refundedMinor: 0,
    disputeState: 'none',
    holdReason: null,
    customerEmail: 'ada@example.com',
    ...change,
  };
}

export function payment(change: Partial<Payment> = {}): Payment {
  return {
    paymentId: 'pi_1',
    chargeId: null,
    role: 'bound',
    status: 'open',
    capturedMinor: 0,
    capturableMinor: 0,
    currency: 'usd',
    attemptFailed: false,
    ...change,
  };
}

export function refund(change: Partial<Refund> = {}): Refund {
  return {
    refundId: 're_1',
    paymentId: 'pi_1',
    amountMinor: 1000,
    currency: 'usd',
    status: 'succeeded',
    everSucceeded: change.status === undefined || change.status === 'succeeded',
    operationKey: null,
    ...change,
  };
}

export function dispute(change: Partial<Dispute> = {}): Dispute {
  return {
    disputeId: 'du_1',
    paymentId: 'pi_1',
    amountMinor: TOTAL,
    currency: 'usd',
    status: 'needs_response',
    movements: [],
    ...change,
  };
}

export function orderCase(change: Partial<OrderCase> = {}): OrderCase {
  return { order: order(), payments: [], refunds: [], disputes: [], operations: [], ...change };
}

/** The order as its payment `pi_1` left it in this status. */
export function caseIn(status: OrderStatus, change: Partial<Order> = {}): OrderCase {
  switch (status) {
    case 'awaiting_payment':
      return orderCase({ order: order(change) });
    case 'processing':
    case 'authorized':
      return orderCase({
        order: order({ status, ...change }),
        payments: [payment({ status, capturableMinor: status === 'authorized' ? TOTAL : 0 })],
      });
    case 'paid':
    case 'partially_refunded':
    case 'refunded': {
      const refundedMinor = { paid: 0, partially_refunded: 1000, refunded: TOTAL }[status];
      return orderCase({
        order: order({ status, capturedMinor: TOTAL, refundedMinor, ...change }),
        payments: [payment({ status: 'succeeded', capturedMinor: TOTAL })],
        refunds: refundedMinor === 0 ? [] : [refund({ refundId: 're_0', amountMinor: refundedMinor })],
      });
    }
    case 'canceled':
      return orderCase({ order: order({ status, ...change }), payments: [payment({ status: 'canceled' })] });
  }
}

export function paymentFact(change: Partial<PaymentFact> = {}): PaymentFact {
  const state = change.state ?? 'succeeded';
  return {
    kind: 'payment',
    about: ABOUT,
    paymentId: 'pi_1',
    chargeId: null,
    state,
    receivedMinor: state === 'succeeded' ? TOTAL : 0,
    capturableMinor: state === 'authorized' ? TOTAL : 0,
    currency: 'usd',
    ...change,
  };
}

export function sessionFact(change: Partial<SessionFact> = {}): SessionFact {
  return {
    kind: 'session',
    about: ABOUT,
    sessionId: 'cs_1',
    paymentId: 'pi_1',
    state: 'paid',
    totalMinor: TOTAL,
    currency: 'usd',
    ...change,
  };
}

export function refundFact(change: Partial<RefundFact> = {}): RefundFact & { readonly paymentId: string } {
  return {
    kind: 'refund',
    refundId: 're_1',
    chargeId: null,
    amountMinor: 1000,
    currency: 'usd',
    status: 'succeeded',
    isExpiredHold: false,
    operationId: null,
    ...change,
    paymentId: change.paymentId ?? 'pi_1',
  };
}

export function disputeFact(change: Partial<DisputeFact> = {}): DisputeFact & { readonly paymentId: string } {
  return {
    kind: 'dispute',
    disputeId: 'du_1',
    chargeId: null,
    amountMinor: TOTAL,
    currency: 'usd',
    status: 'needs_response',
    movements: [],
    ...change,
    paymentId: change.paymentId ?? 'pi_1',
  };
}

export const UNASKED: Looks = {
  charge: () => ({ kind: 'unasked' }),
  payment: () => ({ kind: 'unasked' }),
  session: () => ({ kind: 'unasked' }),
  refund: () => ({ kind: 'unasked' }),
  refundsOf: () => ({ kind: 'unasked' }),
  dispute: () => ({ kind: 'unasked' }),
};

export const UNAVAILABLE: Looks = {
  charge: () => ({ kind: 'unavailable' }),
  payment: () => ({ kind: 'unavailable' }),
  session: () => ({ kind: 'unavailable' }),
  refund: () => ({ kind: 'unavailable' }),
  refundsOf: () => ({ kind: 'unavailable' }),
  dispute: () => ({ kind: 'unavailable' }),
};

export function found<Value>(value: Value): Look<Value> {
  return { kind: 'found', value };
}

export function circumstances(change: Partial<Circumstances> = {}): Circumstances {
  return {
    scope: 'stripe:acct_test:test',
    tenant: 'default',
    policies: { latePayment: 'refund', secondPayment: 'refund', overpaid: 'quarantine' },
    mails: { orderPaid: true, refundSucceeded: true, refundFailedTo: 'shop@example.com' },
    looks: UNASKED,
    operationIdOf,
    account: 'ours',
    patience: 'waiting',
    ...change,
  };
}

export function operationIdOf(key: string): string {
  return `oncehook:${createHash('sha256').update(key).digest('hex').slice(0, 40)}`;
}

/** A decision in a few words, for tables: what became of the order, its rows and what is to be done outside. */
export function inWords(decision: Decision): string {
  switch (decision.kind) {
    case 'stand': {
      const { order: next, payments } = decision.next;
      const rows = payments.map(({ paymentId, role, status }) => `${paymentId}=${role}/${status}`);
      const keys = decision.operations.map(({ key }) => key);
      return [decision.outcome, next.status, ...rows, ...keys].join(' ');
    }
    case 'ignore':
      return `ignore ${decision.reason}`;
    case 'fetch':
      return `fetch ${decision.references.map(({ type }) => type).join(' ')}`;
    case 'wait':
      return `wait ${decision.reason}`;
    case 'quarantine': {
      const held = decision.keep === null ? '' : ` hold=${decision.keep.order.holdReason ?? 'none'}`;
      return `quarantine ${decision.reason}${held}`;
    }
  }
}

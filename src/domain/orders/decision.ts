import type { FetchReference, PlannedOperation } from '../outcome.js';
import { withOrder, type HoldReason, type OrderCase } from './order-case.js';
import type { Looks } from './facts.js';

/** What may be configured; stripe-semantics of each is in docs/order-state.md. */
export interface OrderPolicies {
  readonly latePayment: 'refund' | 'quarantine';
  readonly secondPayment: 'refund' | 'quarantine';
  readonly overpaid: 'refund' | 'quarantine';
}

/** Which mails are sent; one recipient each. */
export interface OrderMails {
  readonly orderPaid: boolean;
  readonly refundSucceeded: boolean;
  /** Where a refund that failed is reported; `null` for no such mail. */
  readonly refundFailedTo: string | null;
}

/** What a decision is made with, besides the case and the fact. */
export interface Circumstances {
  readonly scope: string;
  readonly tenant: string;
  readonly policies: OrderPolicies;
  readonly mails: OrderMails;
  readonly looks: Looks;
  /** `metadata.operation_id` of an operation's refund; a hash, so given by the caller. */
  readonly operationIdOf: (operationKey: string) => string;
  /** Whether other integrations use the account, too: then what we do not know may be theirs. */
  readonly account: 'ours' | 'shared';
  /** Whether the event has waited long enough for what it stands on that the provider should be asked instead. */
  readonly patience: 'waiting' | 'spent';
}

/**
 * What is to be done about a fact.
 * - `stand`: the case becomes `next` and these operations are planned, in one transaction with the outcome.
 * - `ignore`: not ours; there is no case. `fetch`, `wait`: nothing changes yet.
 * - `quarantine`: nothing changes, except to `keep` if given.
 */
export type Decision =
  | {
      readonly kind: 'stand';
      readonly outcome: 'applied' | 'duplicate' | 'superseded' | 'ignored';
      readonly reason?: string;
      readonly next: OrderCase;
      readonly operations: readonly PlannedOperation[];
    }
  | { readonly kind: 'ignore'; readonly reason: 'foreign' | 'expired_hold' }
  | { readonly kind: 'fetch'; readonly references: readonly FetchReference[] }
  | {
      readonly kind: 'wait';
      readonly reason: string;
      readonly fetch: FetchReference | null;
      /** The order that is not there yet, where one was named. */
      readonly orderId: string | null;
    }
  | { readonly kind: 'quarantine'; readonly reason: QuarantineReason; readonly keep: OrderCase | null };

export type QuarantineReason =
  | 'account_mismatch'
  | 'amount_conflict'
  | 'contradiction'
  | 'currency_mismatch'
  | 'late_partial_funding'
  | 'late_payment'
  | 'malformed_order_id'
  | 'order_on_hold'
  | 'overpaid'
  | 'object_missing'
  | 'refund_before_payment'
  | 'refund_conflict'
  | 'refund_not_listed'
  | 'schema'
  | 'second_payment'
  | 'session_without_payment'
  | 'underpaid'
  | 'unknown_order';

export function applied(next: OrderCase, ...operations: readonly PlannedOperation[]): Decision {
  return { kind: 'stand', outcome: 'applied', next, operations };
}

export function duplicate(next: OrderCase): Decision {
  return { kind: 'stand', outcome: 'duplicate', next, operations: [] };
}

export function superseded(next: OrderCase): Decision {
  return { kind: 'stand', outcome: 'superseded', next, operations: [] };
}

export function ignored(next: OrderCase, reason?: string): Decision {
  return { kind: 'stand', outcome: 'ignored', next, operations: [], ...(reason === undefined ? {} : { reason }) };
}

export function fetch(...references: readonly FetchReference[]): Decision {
  return { kind: 'fetch', references };
}

export function wait(reason: string, reference: FetchReference | null, orderId: string | null = null): Decision {
  return { kind: 'wait', reason, fetch: reference, orderId };
}

export function quarantine(reason: QuarantineReason): Decision {
  return { kind: 'quarantine', reason, keep: null };
}

/** Settled money is in doubt: besides the event, the order is stopped until an operator has looked. */
export function quarantineAndHold(reason: QuarantineReason & HoldReason, orderCase: OrderCase): Decision {
  const held = orderCase.order.holdReason ?? reason;
  return { kind: 'quarantine', reason, keep: withOrder(orderCase, { holdReason: held }) };
}

/** Both in one transaction, or what the second says if it does not stand. */
export function andThen(first: Decision, second: (next: OrderCase) => Decision): Decision {
  if (first.kind !== 'stand') return first;
  const then = second(first.next);
  if (then.kind !== 'stand') return then;
  const strongest = first.outcome === 'applied' ? first.outcome : then.outcome;
  return { ...then, outcome: strongest, operations: [...first.operations, ...then.operations] };
}

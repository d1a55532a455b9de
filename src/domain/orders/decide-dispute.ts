import { andThen, applied, duplicate, fetch, superseded, wait, type Circumstances, type Decision } from './decision.js';
import type { DisputeFact } from './facts.js';
import {
  DISPUTE_STATUSES,
  paymentOf,
  withDispute,
  type Dispute,
  type DisputeStatus,
  type OrderCase,
} from './order-case.js';
import { recordAll } from './decide-refund.js';
import { disputeReference, paymentReference, refundsReference } from './references.js';
import { settleOrder } from './settle-order.js';

/**
 * The table of dispute facts. A dispute is beside the order's status: what was paid and refunded stays what it is, and
 * what the bank took or gave back is in the ledger.
 */
export function decideDispute(
  orderCase: OrderCase,
  fact: DisputeFact & { readonly paymentId: string },
  circumstances: Circumstances,
): Decision {
  const payment = paymentOf(orderCase, fact.paymentId);
  if (payment?.status !== 'succeeded') return wait('dispute_before_payment', paymentReference(fact.paymentId));
  const decision = decideStatus(orderCase, fact, circumstances);
  // What prevents a dispute is often a refund that Stripe made by itself.
  if (fact.status !== 'prevented' || decision.kind !== 'stand') return decision;
  const list = circumstances.looks.refundsOf(fact.paymentId);
  if (list.kind === 'unasked') return fetch(refundsReference(fact.paymentId));
  if (list.kind !== 'found') return decision;
  return andThen(decision, (next) => recordAll(next, payment, list.value, circumstances));
}

function decideStatus(
  orderCase: OrderCase,
  fact: DisputeFact & { readonly paymentId: string },
  { looks }: Circumstances,
): Decision {
  const known = orderCase.disputes.find(({ disputeId }) => disputeId === fact.disputeId);
  const movements = union(known, fact);
  if (known === undefined || isFurther(fact.status, known.status)) {
    return write(orderCase, known, { ...rowOf(fact), movements }, duplicate);
  }
  const remembered: Dispute = { ...known, movements };
  if (known.status === fact.status) return write(orderCase, known, remembered, duplicate);
  const look = looks.dispute(fact.disputeId);
  if (look.kind === 'unasked') return fetch(disputeReference(fact.disputeId));
  if (look.kind !== 'found') return write(orderCase, known, remembered, superseded);
  const { status, amountMinor } = look.value;
  const news = { ...remembered, status, amountMinor, movements: union(remembered, look.value) };
  return write(orderCase, known, news, superseded);
}

function isFurther(status: DisputeStatus, than: DisputeStatus): boolean {
  return DISPUTE_STATUSES.indexOf(status) > DISPUTE_STATUSES.indexOf(than);
}

/** A later status is news, and so is money that moved, whichever event tells it. */
function write(
  orderCase: OrderCase,
  known: Dispute | undefined,
  row: Dispute,
  otherwise: (next: OrderCase) => Decision,
): Decision {
  const isNews =
    known?.status !== row.status ||
    known.amountMinor !== row.amountMinor ||
    known.movements.length !== row.movements.length;
  const next = settleOrder(isNews ? withDispute(orderCase, row) : orderCase);
  return next === orderCase ? otherwise(orderCase) : applied(next);
}

function rowOf({
  disputeId,
  paymentId,
  amountMinor,
  currency,
  status,
}: DisputeFact & { readonly paymentId: string }): Omit<Dispute, 'movements'> {
  return { disputeId, paymentId, amountMinor, currency, status };
}

/** Movements by their transactions: the same one told twice is one. */
function union(known: Pick<Dispute, 'movements'> | undefined, fact: Pick<Dispute, 'movements'>): Dispute['movements'] {
  const stored = known?.movements ?? [];
  const isStored = (id: string): boolean => stored.some(({ transactionId }) => transactionId === id);
  const added = fact.movements.filter(({ transactionId }) => !isStored(transactionId));
  if (added.length === 0) return stored;
  return [...stored, ...added].sort((a, b) => (a.transactionId < b.transactionId ? -1 : 1));
}

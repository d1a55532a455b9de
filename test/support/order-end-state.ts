import { ledgerOf } from '../../src/domain/orders/ledger.js';
import { isLive, isPaid, type Dispute, type OrderCase } from '../../src/domain/orders/order-case.js';
import type { PlannedOperation } from '../../src/domain/outcome.js';
import { isActive, type History } from './order-histories.js';

interface RefundParams {
  readonly paymentId: string;
  readonly amountMinor: number;
  readonly purpose: string;
}

/**
 * Where an order ended, in a form that does not depend on how: without what may differ by arrival and decides nothing
 * (flags for further events, cancellations of payments that were canceled anyway, mails about a state that had passed).
 */
export function endState(history: History, orderCase: OrderCase, planned: readonly PlannedOperation[]): unknown {
  const { order, payments, refunds, disputes } = orderCase;
  // Which of several equal payments paid the order is a matter of arrival; that one did, and the others go back, is not.
  const nameOf = (paymentId: string): string => (history.family === 'several' ? 'any' : paymentId);
  return {
    order: {
      status: order.status,
      captured: order.capturedMinor,
      refunded: order.refundedMinor,
      dispute: order.disputeState,
      hold: order.holdReason,
    },
    // What a paid order learns of a further attempt, before money comes of it, is not kept up to date.
    payments: sorted(
      payments
        .filter((row) => !(isPaid(order.status) && isLive(row)))
        .map((row) => [nameOf(row.paymentId), row.role, row.status, row.capturedMinor]),
    ),
    refunds: sorted(
      refunds.map((row) => [row.refundId, row.amountMinor, row.status, row.everSucceeded, row.operationKey]),
    ),
    disputes: sorted(disputes.map((row) => [row.disputeId, row.status, row.amountMinor, movementsOf(row)])),
    ledger: sorted(
      ledgerOf(orderCase).map(({ key, kind, amountMinor }) => [history.family === 'several' ? kind : key, amountMinor]),
    ),
    refundOperations: sorted(
      refundsIn(planned).map(({ paymentId, amountMinor, purpose }) => [nameOf(paymentId), amountMinor, purpose]),
    ),
    paidMails: planned.filter(({ key }) => key.startsWith('email:order-paid:')).length,
  };
}

function movementsOf({ movements }: Dispute): readonly (readonly unknown[])[] {
  return movements.map(({ transactionId, amountMinor }) => [transactionId, amountMinor]);
}

function sorted(rows: readonly (readonly unknown[])[]): readonly string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

export function refundsIn(planned: readonly PlannedOperation[]): readonly RefundParams[] {
  // Parameters that the orders set made itself.
  return planned.filter(({ kind }) => kind === 'refund').map(({ params }) => params as RefundParams);
}

/** What no schedule may break, whatever Stripe could be asked: nobody gets back more than was taken. */
export function faultsOf(
  history: History,
  orderCase: OrderCase,
  planned: readonly PlannedOperation[],
): readonly string[] {
  const automatic = refundsIn(planned);
  const faults: string[] = [];
  for (const payment of orderCase.payments) {
    const { paymentId, capturedMinor } = payment;
    const answer = history.answer({ type: 'refunds_of_payment', id: paymentId });
    const list = answer.kind === 'found' ? (answer.object as { data: readonly Record<string, unknown>[] }).data : [];
    const made = list.filter(({ status }) => isActive(status)).reduce((sum, { amount }) => sum + Number(amount), 0);
    const asked = automatic.filter((row) => row.paymentId === paymentId).reduce((sum, row) => sum + row.amountMinor, 0);
    if (asked > 0 && made + asked > capturedMinor) faults.push(`${paymentId}: ${made} + ${asked} of ${capturedMinor}`);
  }
  const { capturedMinor, refundedMinor } = orderCase.order;
  if (refundedMinor > capturedMinor) faults.push(`refunded ${refundedMinor} of ${capturedMinor}`);
  if (orderCase.payments.filter(({ role }) => role === 'bound').length > 1) faults.push('two payments bound');
  return faults;
}

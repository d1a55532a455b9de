import { describe, expect, it } from 'vitest';
import type { Circumstances, Decision } from '../../src/domain/orders/decision.js';
import { decideDispute } from '../../src/domain/orders/decide-dispute.js';
import { decideRefund, decideRefundedCharge } from '../../src/domain/orders/decide-refund.js';
import type { DisputeFact, Looks, RefundFact } from '../../src/domain/orders/facts.js';
import { ledgerOf } from '../../src/domain/orders/ledger.js';
import type {
  DisputeState,
  DisputeStatus,
  OrderCase,
  OrderStatus,
  Refund,
  RefundStatus,
} from '../../src/domain/orders/order-case.js';
import {
  caseIn,
  circumstances,
  dispute,
  disputeFact,
  found,
  inWords,
  operationIdOf,
  order,
  orderCase,
  payment,
  paymentFact,
  refund,
  refundFact,
  TOTAL,
  UNASKED,
  UNAVAILABLE,
} from '../support/order-cases.js';

const STATUSES: readonly RefundStatus[] = ['pending', 'requires_action', 'succeeded', 'failed', 'canceled'];
const SUCCEEDED_MAIL = 'email:refund-succeeded:default:re_1';
const FAILED_MAIL = 'email:refund-failed:default:re_1';

function decided(given: OrderCase, fact: Partial<RefundFact> = {}, change: Partial<Circumstances> = {}): Decision {
  return decideRefund(given, refundFact(fact), circumstances(change));
}

/** A paid order whose payment has these refunds. */
function paidWith(...refunds: readonly Refund[]): OrderCase {
  return { ...caseIn('paid'), refunds };
}

function truth(status: RefundStatus): Looks {
  return { ...UNASKED, refund: (refundId) => found(refundFact({ refundId, status })) };
}

function refundsIn(decision: Decision): readonly Refund[] {
  if (decision.kind === 'stand') return decision.next.refunds;
  return decision.kind === 'quarantine' ? (decision.keep?.refunds ?? []) : [];
}

function nextOrder(decision: Decision) {
  return decision.kind === 'stand' ? decision.next.order : undefined;
}

function keys(decision: Decision): readonly string[] {
  return decision.kind === 'stand' ? decision.operations.map(({ key }) => key) : [];
}

describe('refund R unknown, not ours', () => {
  it.each([
    ['pending', 'paid', []],
    ['requires_action', 'paid', []],
    ['succeeded', 'partially_refunded', [SUCCEEDED_MAIL]],
    ['failed', 'paid', [FAILED_MAIL]],
    ['canceled', 'paid', []],
  ] as const)('%s: inserted as external; the order is %s', (status, orderStatus, mails) => {
    const decision = decided(paidWith(), { status });
    expect(refundsIn(decision)).toEqual([refund({ status })]);
    expect(nextOrder(decision)).toMatchObject({ status: orderStatus, holdReason: null });
    expect(keys(decision)).toEqual(mails);
  });

  it('of everything: refunded', () => {
    const decision = decided(paidWith(), { amountMinor: TOTAL });
    expect(nextOrder(decision)).toMatchObject({ status: 'refunded', refundedMinor: TOTAL });
  });

  it('that releases an expired hold is no refund', () => {
    expect(inWords(decided(caseIn('canceled'), { isExpiredHold: true }))).toContain('ignored canceled');
  });

  it('in another currency: currency_mismatch', () => {
    expect(inWords(decided(paidWith(), { currency: 'vnd' }))).toBe('quarantine currency_mismatch');
  });
});

describe('refund R known', () => {
  it.each(STATUSES)('%s, status and amount equal: duplicate', (status) => {
    const given = { ...paidWith(refund({ status })), order: paidOrder(status) };
    expect(inWords(decided(given, { status }))).toContain('duplicate');
  });

  function paidOrder(status: RefundStatus) {
    return status === 'succeeded'
      ? caseIn('partially_refunded').order
      : { ...caseIn('paid').order, holdReason: status === 'failed' ? 'refund_failed' : null };
  }

  const forward: readonly [RefundStatus, RefundStatus, OrderStatus, readonly string[]][] = [
    ['pending', 'succeeded', 'partially_refunded', [SUCCEEDED_MAIL]],
    ['pending', 'failed', 'paid', [FAILED_MAIL]],
    ['pending', 'canceled', 'paid', []],
    ['requires_action', 'succeeded', 'partially_refunded', [SUCCEEDED_MAIL]],
    ['requires_action', 'failed', 'paid', [FAILED_MAIL]],
    ['requires_action', 'canceled', 'paid', []],
  ];
  it.each(forward)('%s to %s: applied; the order is %s', (from, to, status, mails) => {
    const decision = decided(paidWith(refund({ status: from })), { status: to });
    expect(refundsIn(decision)).toEqual([refund({ status: to })]);
    expect(nextOrder(decision)).toMatchObject({ status, holdReason: null });
    expect(keys(decision)).toEqual(mails);
  });

  it.each(['failed', 'canceled'] as const)('succeeded to %s: the order goes down, and is held for a person', (to) => {
    const given = { ...caseIn('partially_refunded'), refunds: [refund()] };
    const decision = decided(given, { status: to });
    expect(nextOrder(decision)).toMatchObject({ status: 'paid', refundedMinor: 0, holdReason: 'refund_failed' });
    expect(keys(decision)).toEqual(to === 'failed' ? [FAILED_MAIL] : []);
    if (decision.kind !== 'stand') throw new Error('not applied');
    expect(ledgerOf(decision.next).map(({ key, amountMinor }) => [key, amountMinor])).toEqual([
      ['payment:pi_1', TOTAL],
      ['refund:re_1', -1000],
      ['refund_reversal:re_1', 1000],
    ]);
  });

  const sideways: readonly [RefundStatus, RefundStatus][] = [
    ['pending', 'requires_action'],
    ['requires_action', 'pending'],
  ];
  it.each(sideways)('%s to %s: fetch, since either may be the older', (from, to) => {
    const given = paidWith(refund({ status: from }));
    expect(inWords(decided(given, { status: to }))).toBe('fetch refund');
    expect(refundsIn(decided(given, { status: to }, { looks: truth(to) }))).toEqual([refund({ status: to })]);
    expect(inWords(decided(given, { status: to }, { looks: truth(from) }))).toContain('superseded');
    expect(refundsIn(decided(given, { status: to }, { looks: truth('succeeded') }))).toEqual([refund()]);
    expect(refundsIn(decided(given, { status: to }, { looks: UNAVAILABLE }))).toEqual([refund({ status: to })]);
  });

  const backward: readonly [RefundStatus, RefundStatus][] = [
    ['succeeded', 'pending'],
    ['succeeded', 'requires_action'],
    ['failed', 'pending'],
    ['failed', 'requires_action'],
    ['failed', 'canceled'],
    ['canceled', 'pending'],
    ['canceled', 'requires_action'],
    ['canceled', 'failed'],
  ];
  it.each(backward)('%s to %s: fetch; equal to what is stored is superseded, another is a conflict', (from, to) => {
    const status = from === 'succeeded' ? 'partially_refunded' : 'paid';
    const given = { ...caseIn(status), refunds: [refund({ status: from })] };
    expect(inWords(decided(given, { status: to }))).toBe('fetch refund');
    expect(inWords(decided(given, { status: to }, { looks: truth(from) }))).toContain('superseded');
    expect(inWords(decided(given, { status: to }, { looks: UNAVAILABLE }))).toContain('superseded');
    expect(inWords(decided(given, { status: to }, { looks: truth('pending') }))).toBe(
      'quarantine refund_conflict hold=refund_conflict',
    );
  });

  it.each(['failed', 'canceled'] as const)('%s to succeeded: it had succeeded before, so the order is held', (from) => {
    const given = paidWith(refund({ status: from }));
    expect(inWords(decided(given))).toBe('fetch refund');
    const decision = decided(given, {}, { looks: truth(from) });
    expect(refundsIn(decision)).toEqual([refund({ status: from, everSucceeded: true })]);
    expect(nextOrder(decision)).toMatchObject({ status: 'paid', holdReason: 'refund_failed' });
    expect(keys(decision)).toEqual([]);
    if (decision.kind !== 'stand') throw new Error('not applied');
    expect(inWords(decided(decision.next, {}, { looks: truth(from) }))).toContain('superseded');
  });

  it('with another amount: refund_conflict, and the order is held', () => {
    expect(inWords(decided(paidWith(refund()), { amountMinor: 999 }))).toBe(
      'quarantine refund_conflict hold=refund_conflict',
    );
  });
});

describe('refund R of our operation', () => {
  const key = 'refund:requested:default:order_1:r1';
  const operation = { operationKey: key, operationId: operationIdOf(key), paymentId: 'pi_1', amountMinor: 1000 };
  const given: OrderCase = { ...paidWith(), operations: [operation] };

  it('is linked to it', () => {
    expect(refundsIn(decided(given, { operationId: operation.operationId }))).toEqual([refund({ operationKey: key })]);
  });

  it('is linked later, when the first event did not say so', () => {
    const seen = { ...caseIn('partially_refunded'), refunds: [refund()], operations: [operation] };
    const decision = decided(seen, { operationId: operation.operationId });
    expect(inWords(decision)).toContain('applied');
    expect(refundsIn(decision)).toEqual([refund({ operationKey: key })]);
  });

  it('of another amount or payment, or a second one of it: refund_conflict', () => {
    const ours = { operationId: operation.operationId };
    const conflict = 'quarantine refund_conflict hold=refund_conflict';
    expect(inWords(decided(given, { ...ours, amountMinor: 999 }))).toBe(conflict);
    const elsewhere = { ...given, operations: [{ ...operation, paymentId: 'pi_2' }] };
    expect(inWords(decided(elsewhere, ours))).toBe(conflict);
    const twice = { ...given, refunds: [refund({ refundId: 're_0', operationKey: key })] };
    expect(inWords(decided(twice, ours))).toBe(conflict);
  });
});

describe('refund R before its payment', () => {
  const looks = (state: 'succeeded' | 'processing'): Looks => ({
    ...UNASKED,
    payment: () => found(paymentFact({ state })),
  });
  it.each(['awaiting_payment', 'processing', 'authorized'] as const)(
    '%s: waits a little, then the payment is fetched',
    (status) => {
      expect(inWords(decided(caseIn(status)))).toBe('wait refund_before_payment');
      expect(inWords(decided(caseIn(status), {}, { patience: 'spent' }))).toBe('fetch payment_intent');
      const decision = decided(caseIn(status), {}, { looks: looks('succeeded') });
      expect(nextOrder(decision)).toMatchObject({
        status: 'partially_refunded',
        capturedMinor: TOTAL,
        refundedMinor: 1000,
      });
      expect(keys(decision)).toEqual(['email:order-paid:default:order_1', SUCCEEDED_MAIL]);
      expect(inWords(decided(caseIn(status), {}, { looks: looks('processing') }))).toBe(
        'quarantine refund_before_payment',
      );
      expect(inWords(decided(caseIn(status), {}, { looks: UNAVAILABLE }))).toBe('wait refund_before_payment');
    },
  );
});

describe('refund R of a canceled order', () => {
  it('is recorded on the late payment; the order stays canceled', () => {
    const given = orderCase({
      order: order({ status: 'canceled' }),
      payments: [payment({ role: 'late', status: 'succeeded', capturedMinor: TOTAL })],
    });
    const decision = decided(given, { amountMinor: TOTAL });
    expect(nextOrder(decision)).toMatchObject({ status: 'canceled', refundedMinor: 0 });
    expect(refundsIn(decision)).toHaveLength(1);
  });
});

describe('more refunded than captured', () => {
  const full = refund({ refundId: 're_0', amountMinor: TOTAL, status: 'pending' });
  const given = paidWith(full);
  const listed = (...facts: readonly Partial<RefundFact>[]): Looks => ({
    ...UNASKED,
    refundsOf: () => found(facts.map((fact) => refundFact(fact))),
  });

  it('is looked up: an older refund may have failed meanwhile', () => {
    expect(inWords(decided(given))).toBe('fetch refunds_of_payment');
    const failed = { refundId: 're_0', amountMinor: TOTAL, status: 'failed' as const };
    const decision = decided(given, {}, { looks: listed({}, failed) });
    expect(nextOrder(decision)).toMatchObject({ status: 'partially_refunded', refundedMinor: 1000 });
  });

  it('is a conflict, and a hold, when the provider says so too', () => {
    const both = listed({}, { refundId: 're_0', amountMinor: TOTAL, status: 'pending' });
    expect(inWords(decided(given, {}, { looks: both }))).toBe('quarantine refund_conflict hold=refund_conflict');
    expect(inWords(decided(given, {}, { looks: UNAVAILABLE }))).toBe('quarantine refund_conflict hold=refund_conflict');
  });

  it('of a surplus payment holds nothing', () => {
    const surplus = {
      ...caseIn('paid'),
      payments: [payment({ status: 'succeeded', capturedMinor: TOTAL }), surplusPayment()],
    };
    const decision = decided(surplus, { paymentId: 'pi_2', amountMinor: TOTAL + 1 }, { looks: UNAVAILABLE });
    expect(inWords(decision)).toBe('quarantine refund_conflict');
  });

  function surplusPayment() {
    return payment({ paymentId: 'pi_2', role: 'surplus', status: 'succeeded', capturedMinor: TOTAL });
  }
});

describe('a refund while the order is on hold', () => {
  it('is recorded; the order is not moved, and nobody is told', () => {
    const given = caseIn('paid', { holdReason: 'amount_conflict' });
    const decision = decided(given);
    expect(inWords(decision)).toBe('quarantine order_on_hold hold=amount_conflict');
    expect(refundsIn(decision)).toHaveLength(1);
    expect(decision).toMatchObject({ keep: { order: { status: 'paid', refundedMinor: 1000 } } });
  });

  it('is caught up on when an operator has released it', () => {
    const released = { ...caseIn('paid', { refundedMinor: 1000 }), refunds: [refund()] };
    expect(nextOrder(decided(released))).toMatchObject({ status: 'partially_refunded' });
  });

  it('for a refund that failed, goes on: the money is known', () => {
    expect(nextOrder(decided(caseIn('paid', { holdReason: 'refund_failed' })))).toMatchObject({
      status: 'partially_refunded',
      holdReason: 'refund_failed',
    });
  });
});

describe('charge.refunded', () => {
  function charged(given: OrderCase, refundedMinor: number, looks: Looks): Decision {
    const fact = {
      kind: 'refundedCharge' as const,
      paymentId: 'pi_1',
      chargeId: 'ch_1',
      refundedMinor,
      currency: 'usd',
    };
    return decideRefundedCharge(given, fact, circumstances({ looks }));
  }
  const listed: Looks = {
    ...UNASKED,
    refundsOf: () => found([refundFact({ amountMinor: 1200 }), refundFact({ refundId: 're_2', amountMinor: 3000 })]),
  };

  it('is never summed: the list is fetched and each refund recorded', () => {
    expect(inWords(charged(paidWith(), 1200, UNASKED))).toBe('fetch refunds_of_payment');
    const decision = charged(paidWith(), 1200, listed);
    expect(nextOrder(decision)).toMatchObject({ status: 'refunded', refundedMinor: TOTAL });
    if (decision.kind !== 'stand') throw new Error('not applied');
    expect(inWords(charged(decision.next, TOTAL, listed))).toContain('duplicate refunded');
  });

  it('waits for the refunds themselves when nobody can be asked', () => {
    expect(inWords(charged(paidWith(), 1000, UNAVAILABLE))).toBe('wait refund_not_listed');
    expect(inWords(charged(paidWith(refund({ status: 'pending' })), 1000, UNAVAILABLE))).toContain('duplicate');
    expect(inWords(charged(paidWith(), 1000, { ...UNASKED, refundsOf: () => ({ kind: 'missing' }) }))).toBe(
      'quarantine object_missing',
    );
    expect(inWords(charged(paidWith(), 1000, { ...UNASKED, refundsOf: () => ({ kind: 'unreadable' }) }))).toBe(
      'quarantine schema',
    );
  });
});

describe('a dispute', () => {
  function disputed(given: OrderCase, fact: Partial<DisputeFact>, looks: Looks = UNASKED): Decision {
    return decideDispute(given, disputeFact(fact), circumstances({ looks }));
  }
  const course: readonly [DisputeStatus, DisputeState][] = [
    ['warning_needs_response', 'inquiry'],
    ['warning_under_review', 'inquiry'],
    ['warning_closed', 'none'],
    ['needs_response', 'open'],
    ['under_review', 'open'],
    ['lost', 'lost'],
    ['appeal_needs_response', 'open'],
    ['appeal_under_review', 'open'],
    ['won', 'won'],
  ];

  it.each(course)('%s, new: dispute_state %s; the money status stays', (status, disputeState) => {
    for (const orderStatus of ['paid', 'partially_refunded', 'refunded'] as const) {
      const decision = disputed(caseIn(orderStatus), { status });
      expect(nextOrder(decision)).toMatchObject({ status: orderStatus, disputeState });
      expect(keys(decision)).toEqual([]);
    }
  });

  const moves = course.flatMap(([from], i) =>
    course.map(([to], j) => ({ from, to, isForward: j > i, isEqual: i === j })),
  );
  it.each(moves)('$from to $to', ({ from, to, isForward, isEqual }) => {
    const settled = disputed(caseIn('paid'), { status: from });
    if (settled.kind !== 'stand') throw new Error('not applied');
    const says = inWords(disputed(settled.next, { status: to }));
    expect(says.split(' ')[0]).toBe(isEqual ? 'duplicate' : isForward ? 'applied' : 'fetch');
    if (isEqual || isForward) return;
    const older: Looks = { ...UNASKED, dispute: () => found(disputeFact({ status: from })) };
    expect(inWords(disputed(settled.next, { status: to }, older))).toContain('superseded');
    const newer: Looks = { ...UNASKED, dispute: () => found(disputeFact({ status: to })) };
    expect(inWords(disputed(settled.next, { status: to }, newer))).toContain('applied');
    expect(inWords(disputed(settled.next, { status: to }, UNAVAILABLE))).toContain('superseded');
  });

  it('prevented: the refunds are listed, since Stripe may have made one', () => {
    expect(inWords(disputed(caseIn('paid'), { status: 'prevented' }))).toBe('fetch refunds_of_payment');
    const looks: Looks = { ...UNASKED, refundsOf: () => found([refundFact({ amountMinor: TOTAL })]) };
    expect(nextOrder(disputed(caseIn('paid'), { status: 'prevented' }, looks))).toMatchObject({
      status: 'refunded',
      disputeState: 'none',
    });
  });

  it('lost, of more than was paid: recorded as it is, never clamped', () => {
    const decision = disputed(caseIn('paid'), { status: 'lost', amountMinor: 9000 });
    expect(decision).toMatchObject({ next: { disputes: [{ amountMinor: 9000 }], order: { status: 'paid' } } });
  });

  it('of a canceled order with a refunded late payment leaves it as it is', () => {
    const given = orderCase({
      order: order({ status: 'canceled' }),
      payments: [payment({ role: 'late', status: 'succeeded', capturedMinor: TOTAL })],
      refunds: [refund({ amountMinor: TOTAL })],
    });
    expect(nextOrder(disputed(given, {}))).toMatchObject({ status: 'canceled', disputeState: 'open' });
  });

  it('before its payment waits', () => {
    expect(inWords(disputed(caseIn('processing'), {}))).toBe('wait dispute_before_payment');
  });

  it('moves money in the ledger once per transaction, whichever event tells it', () => {
    const taken = { transactionId: 'txn_1', amountMinor: -TOTAL, currency: 'usd' };
    const back = { transactionId: 'txn_2', amountMinor: TOTAL, currency: 'usd' };
    const first = disputed(caseIn('paid'), { movements: [taken] });
    if (first.kind !== 'stand') throw new Error('not applied');
    expect(inWords(disputed(first.next, { movements: [taken] }))).toContain('duplicate');
    const second = disputed(first.next, { status: 'won', movements: [back, taken] });
    if (second.kind !== 'stand') throw new Error('not applied');
    expect(ledgerOf(second.next).filter(({ kind }) => kind === 'dispute')).toEqual([
      { key: 'dispute:txn_1', kind: 'dispute', paymentId: 'pi_1', amountMinor: -TOTAL, currency: 'usd' },
      { key: 'dispute:txn_2', kind: 'dispute', paymentId: 'pi_1', amountMinor: TOTAL, currency: 'usd' },
    ]);
    // An older event about a newer dispute still tells of its money.
    const late = disputed(
      { ...caseIn('paid'), disputes: [dispute({ status: 'won' })] },
      { movements: [taken] },
      UNAVAILABLE,
    );
    expect(inWords(late)).toContain('applied');
  });

  it.each([
    [['won', 'needs_response'], 'open'],
    [['won', 'lost'], 'lost'],
    [['won', 'warning_under_review'], 'inquiry'],
    [['warning_closed', 'won'], 'won'],
  ] as const)('several: %j is %s', (statuses, state) => {
    const [first, second] = statuses;
    const given = { ...caseIn('paid'), disputes: [dispute({ status: first })] };
    expect(nextOrder(disputed(given, { disputeId: 'du_2', status: second }))).toMatchObject({ disputeState: state });
  });
});

import { describe, expect, it } from 'vitest';
import type { Circumstances, OrderPolicies } from '../../src/domain/orders/decision.js';
import { decidePayment } from '../../src/domain/orders/decide-payment.js';
import { decideSession } from '../../src/domain/orders/decide-session.js';
import type { Looks, PaymentFact, PaymentState, SessionFact } from '../../src/domain/orders/facts.js';
import type { Order, OrderCase, OrderStatus, Payment } from '../../src/domain/orders/order-case.js';
import {
  caseIn,
  circumstances,
  found,
  inWords,
  order,
  orderCase,
  payment,
  paymentFact,
  sessionFact,
  TOTAL,
  UNASKED,
  UNAVAILABLE,
} from '../support/order-cases.js';

const OPEN: readonly OrderStatus[] = ['awaiting_payment', 'processing', 'authorized'];
const PAID: readonly OrderStatus[] = ['paid', 'partially_refunded', 'refunded'];
const ALL: readonly OrderStatus[] = [...OPEN, ...PAID, 'canceled'];

const MAIL = 'email:order-paid:default:order_1';
const LATE = 'refund:late:default:pi_1';

/** What Stripe has: this payment, and these refunds of it. */
function truth(state: PaymentState, receivedMinor = state === 'succeeded' ? TOTAL : 0): Looks {
  return {
    ...UNASKED,
    payment: (paymentId) => found(paymentFact({ paymentId, state, receivedMinor })),
    refundsOf: () => found([]),
  };
}

function policies(change: Partial<OrderPolicies>): Circumstances['policies'] {
  return { ...circumstances().policies, ...change };
}

function decided(given: OrderCase, fact: Partial<PaymentFact>, change: Partial<Circumstances> = {}): string {
  return inWords(decidePayment(given, paymentFact(fact), circumstances(change)));
}

function withSibling(status: OrderStatus, sibling: Partial<Payment> = {}): OrderCase {
  const given = caseIn(status);
  return { ...given, payments: [...given.payments, payment({ paymentId: 'pi_2', role: 'candidate', ...sibling })] };
}

describe('succeeded P, A = N', () => {
  it.each(OPEN)('%s: paid, with one mail', (status) => {
    expect(decided(caseIn(status), {})).toBe(`applied paid pi_1=bound/succeeded ${MAIL}`);
  });

  it.each(PAID)('%s: duplicate', (status) => {
    expect(decided(caseIn(status), {})).toBe(`duplicate ${status} pi_1=bound/succeeded`);
  });

  it.each(PAID)('%s, another amount: fetch, then superseded or amount_conflict and a hold', (status) => {
    const other = { receivedMinor: 4199 };
    expect(decided(caseIn(status), other)).toBe('fetch payment_intent');
    expect(decided(caseIn(status), other, { looks: truth('succeeded') })).toContain('superseded');
    expect(decided(caseIn(status), other, { looks: truth('succeeded', 4199) })).toBe(
      'quarantine amount_conflict hold=amount_conflict',
    );
    expect(decided(caseIn(status), other, { looks: UNAVAILABLE })).toBe(
      'quarantine amount_conflict hold=amount_conflict',
    );
  });

  it('canceled: late; fetch first, then the order stays canceled and all of it goes back', () => {
    expect(decided(caseIn('canceled'), {})).toBe('fetch payment_intent refunds_of_payment');
    expect(decided(caseIn('canceled'), {}, { looks: truth('succeeded') })).toBe(
      `applied canceled pi_1=late/succeeded ${LATE}`,
    );
    expect(decided(caseIn('canceled'), {}, { looks: UNAVAILABLE })).toBe(
      `applied canceled pi_1=late/succeeded ${LATE}`,
    );
    expect(decided(caseIn('canceled'), {}, { looks: truth('canceled') })).toBe('quarantine contradiction');
    expect(decided(caseIn('canceled'), {}, { policies: policies({ latePayment: 'quarantine' }) })).toBe(
      'quarantine late_payment',
    );
  });

  it('canceled, again: duplicate; nothing is planned twice', () => {
    const given = orderCase({
      order: order({ status: 'canceled' }),
      payments: [payment({ role: 'late', status: 'succeeded', capturedMinor: TOTAL })],
    });
    expect(decided(given, {})).toBe('duplicate canceled pi_1=late/succeeded');
  });
});

describe('succeeded P of an order that was canceled by hand after it was paid', () => {
  it('again: duplicate; the money does not go back by itself', () => {
    const given = { ...caseIn('paid'), order: order({ status: 'canceled', capturedMinor: TOTAL }) };
    expect(decided(given, {})).toBe('duplicate canceled pi_1=bound/succeeded');
  });
});

describe('succeeded P, A < N', () => {
  it.each(OPEN)('%s: underpaid', (status) => {
    expect(decided(caseIn(status), { receivedMinor: 4199 })).toBe('quarantine underpaid');
  });

  it('canceled: late refund of A', () => {
    const decision = decidePayment(
      caseIn('canceled'),
      paymentFact({ receivedMinor: 100 }),
      circumstances({ looks: truth('succeeded', 100) }),
    );
    expect(decision).toMatchObject({ operations: [{ key: LATE, params: { amountMinor: 100, purpose: 'late' } }] });
  });
});

describe('succeeded P, A > N', () => {
  const over = { receivedMinor: 5000 };
  it.each(OPEN)('%s: overpaid, or by policy paid and the excess goes back', (status) => {
    expect(decided(caseIn(status), over)).toBe('quarantine overpaid');
    const refunding = { policies: policies({ overpaid: 'refund' }) };
    expect(decided(caseIn(status), over, refunding)).toBe('fetch payment_intent refunds_of_payment');
    const decision = decidePayment(
      caseIn(status),
      paymentFact(over),
      circumstances({ ...refunding, looks: truth('succeeded', 5000) }),
    );
    expect(inWords(decision)).toBe(`applied paid pi_1=bound/succeeded ${MAIL} refund:excess:default:pi_1`);
    expect(decision).toMatchObject({
      next: { order: { capturedMinor: 5000 } },
      operations: [{}, { params: { amountMinor: 800, purpose: 'excess' } }],
    });
  });

  it('canceled: late refund of all of A', () => {
    const decision = decidePayment(
      caseIn('canceled'),
      paymentFact(over),
      circumstances({ looks: truth('succeeded', 5000) }),
    );
    expect(decision).toMatchObject({ operations: [{ params: { amountMinor: 5000 } }] });
  });
});

describe("succeeded P'", () => {
  const second = { paymentId: 'pi_2' };
  it('awaiting_payment: paid by it, and the registered payment is canceled', () => {
    expect(decided(caseIn('awaiting_payment'), second)).toBe(
      `applied paid pi_2=bound/succeeded ${MAIL} cancel_payment_intent:default:pi_1`,
    );
  });

  it.each(['processing', 'authorized'] as const)('%s: paid by it, and the sibling is canceled', (status) => {
    expect(decided(caseIn(status), second)).toBe(
      `applied paid pi_1=candidate/${status} pi_2=bound/succeeded ${MAIL} cancel_payment_intent:default:pi_1`,
    );
  });

  it.each(PAID)('%s: surplus; fetch first, then all of it goes back', (status) => {
    expect(decided(caseIn(status), second)).toBe('fetch payment_intent refunds_of_payment');
    expect(decided(caseIn(status), second, { looks: truth('succeeded') })).toBe(
      `applied ${status} pi_1=bound/succeeded pi_2=surplus/succeeded refund:surplus:default:pi_2`,
    );
    expect(decided(caseIn(status), second, { policies: policies({ secondPayment: 'quarantine' }) })).toBe(
      'quarantine second_payment',
    );
  });

  it.each(PAID)('%s, again: duplicate; another amount is about that payment only and sets no hold', (status) => {
    const given = withSibling(status, { role: 'surplus', status: 'succeeded', capturedMinor: TOTAL });
    expect(decided(given, second)).toContain('duplicate');
    expect(decided(given, { ...second, receivedMinor: 1 }, { looks: UNAVAILABLE })).toBe('quarantine amount_conflict');
  });

  it('canceled: late refund of it', () => {
    expect(decided(caseIn('canceled'), second, { looks: truth('succeeded') })).toBe(
      'applied canceled pi_1=bound/canceled pi_2=late/succeeded refund:late:default:pi_2',
    );
  });

  it('what was refunded already by hand is not refunded again', () => {
    const refunds = [
      { ...refundOf('re_1', 1000), operationId: null },
      // Ours, of an operation that a restored database forgot: it is adopted by the same operation made again.
      { ...refundOf('re_2', 3200), operationId: circumstances().operationIdOf('refund:surplus:default:pi_2') },
    ];
    const looks = { ...truth('succeeded'), refundsOf: () => found(refunds) };
    const decision = decidePayment(caseIn('paid'), paymentFact(second), circumstances({ looks }));
    expect(decision).toMatchObject({ operations: [{ params: { amountMinor: 3200, purpose: 'surplus' } }] });
    const all = { ...truth('succeeded'), refundsOf: () => found([refundOf('re_1', TOTAL)]) };
    expect(decided(caseIn('paid'), second, { looks: all })).toBe(
      'applied paid pi_1=bound/succeeded pi_2=surplus/succeeded',
    );
  });
});

function refundOf(refundId: string, amountMinor: number) {
  return {
    kind: 'refund' as const,
    refundId,
    paymentId: 'pi_2',
    chargeId: null,
    amountMinor,
    currency: 'usd',
    status: 'succeeded' as const,
    isExpiredHold: false,
    operationId: null,
  };
}

describe('an order without a bound payment', () => {
  it('is bound to the first payment that names it, and paid by the guarded change', () => {
    const given = orderCase({ order: order({ providerPaymentId: null }) });
    expect(decidePayment(given, paymentFact(), circumstances())).toMatchObject({
      outcome: 'applied',
      next: { order: { providerPaymentId: 'pi_1', status: 'paid', capturedMinor: TOTAL } },
    });
  });

  it('is not bound by what is quarantined', () => {
    const given = orderCase({ order: order({ providerPaymentId: null }) });
    expect(decidePayment(given, paymentFact({ receivedMinor: 1 }), circumstances())).toEqual({
      kind: 'quarantine',
      reason: 'underpaid',
      keep: null,
    });
  });
});

describe('processing P', () => {
  const fact = { state: 'processing' as const };
  it.each([
    ['awaiting_payment', 'applied processing pi_1=bound/processing'],
    ['processing', 'duplicate processing pi_1=bound/processing'],
    ['authorized', 'superseded authorized pi_1=bound/authorized'],
    ['paid', 'superseded paid pi_1=bound/succeeded'],
    ['partially_refunded', 'superseded partially_refunded pi_1=bound/succeeded'],
    ['refunded', 'superseded refunded pi_1=bound/succeeded'],
    ['canceled', 'superseded canceled pi_1=bound/canceled'],
  ] as const)('%s: %s', (status, says) => {
    expect(decided(caseIn(status), fact)).toBe(says);
  });

  it('canceled, payment not seen yet: payment row only; late money is expected', () => {
    expect(decided(orderCase({ order: order({ status: 'canceled' }) }), fact)).toBe(
      'applied canceled pi_1=bound/processing',
    );
  });

  it('after a failed attempt: fetch, since it may be the older news', () => {
    const given = orderCase({ payments: [payment({ attemptFailed: true })] });
    expect(decided(given, fact)).toBe('fetch payment_intent');
    expect(decided(given, fact, { looks: truth('failed') })).toContain('superseded awaiting_payment');
    expect(decided(given, fact, { looks: truth('processing') })).toContain('applied processing');
    expect(decided(given, fact, { looks: truth('succeeded') })).toContain('applied paid');
    expect(decided(given, fact, { looks: UNAVAILABLE })).toContain('applied processing');
  });
});

describe('requires_action, created P', () => {
  it.each([
    ['awaiting_payment', 'applied awaiting_payment pi_1=bound/open'],
    ['processing', 'superseded processing pi_1=bound/processing'],
    ['authorized', 'superseded authorized pi_1=bound/authorized'],
    ['paid', 'superseded paid pi_1=bound/succeeded'],
    ['partially_refunded', 'superseded partially_refunded pi_1=bound/succeeded'],
    ['refunded', 'superseded refunded pi_1=bound/succeeded'],
    ['canceled', 'superseded canceled pi_1=bound/canceled'],
  ] as const)('%s: %s', (status, says) => {
    expect(decided(caseIn(status), { state: 'open' })).toBe(says);
  });

  it('canceled, payment not seen yet: payment row only', () => {
    expect(decided(orderCase({ order: order({ status: 'canceled' }) }), { state: 'open' })).toBe(
      'applied canceled pi_1=bound/open',
    );
  });

  it("P' of a paid order is canceled, so that it takes no money", () => {
    expect(decided(caseIn('paid'), { paymentId: 'pi_2', state: 'open' })).toBe(
      'applied paid pi_1=bound/succeeded pi_2=candidate/open cancel_payment_intent:default:pi_2',
    );
  });
});

describe('amount_capturable_updated P', () => {
  const fact = { state: 'authorized' as const };
  it.each([
    ['awaiting_payment', 'applied authorized pi_1=bound/authorized'],
    ['processing', 'applied authorized pi_1=bound/authorized'],
    ['authorized', 'duplicate authorized pi_1=bound/authorized'],
    ['paid', 'superseded paid pi_1=bound/succeeded'],
    ['partially_refunded', 'superseded partially_refunded pi_1=bound/succeeded'],
    ['refunded', 'superseded refunded pi_1=bound/succeeded'],
  ] as const)('%s: %s', (status, says) => {
    expect(decided(caseIn(status), fact)).toBe(says);
  });

  it('authorized, another capturable amount: applied', () => {
    expect(decided(caseIn('authorized'), { ...fact, capturableMinor: 4000 })).toContain('applied authorized');
  });

  it('canceled: the hold is released by canceling the payment, never by a refund', () => {
    expect(decided(orderCase({ order: order({ status: 'canceled' }) }), fact)).toBe(
      'applied canceled pi_1=bound/authorized cancel_payment_intent:default:pi_1',
    );
  });
});

describe('partially_funded P', () => {
  const fact = { state: 'partially_funded' as const };
  it('awaiting_payment: payment row only, not paid', () => {
    expect(decided(caseIn('awaiting_payment'), fact)).toBe('applied awaiting_payment pi_1=bound/open');
  });
  it.each(['processing', ...PAID] as const)('%s: superseded', (status) => {
    expect(decided(caseIn(status), fact)).toContain(`superseded ${status}`);
  });
  it('canceled: for a person', () => {
    expect(decided(caseIn('canceled'), fact)).toBe('quarantine late_partial_funding');
  });
});

describe('payment_failed P', () => {
  const fact = { state: 'failed' as const };
  it('awaiting_payment: payment row; the order stays', () => {
    expect(decided(caseIn('awaiting_payment'), fact)).toBe('applied awaiting_payment pi_1=bound/open');
    const again = orderCase({ payments: [payment({ attemptFailed: true })] });
    expect(decided(again, fact)).toBe('duplicate awaiting_payment pi_1=bound/open');
  });

  it.each(['processing', 'authorized'] as const)(
    '%s: fetch; back to awaiting_payment only by the provider',
    (status) => {
      expect(decided(caseIn(status), fact)).toBe('fetch payment_intent');
      expect(decided(caseIn(status), fact, { looks: truth('failed') })).toBe(
        'applied awaiting_payment pi_1=bound/open',
      );
      expect(decided(caseIn(status), fact, { looks: truth('processing') })).toContain(`superseded ${status}`);
      expect(decided(caseIn(status), fact, { looks: truth('succeeded') })).toContain('applied paid');
      expect(decided(caseIn(status), fact, { looks: truth('canceled') })).toContain('applied canceled');
      expect(decided(caseIn(status), fact, { looks: UNAVAILABLE })).toContain(`superseded ${status}`);
    },
  );

  it.each(PAID)('%s: superseded, whatever its time', (status) => {
    expect(decided(caseIn(status), fact)).toContain(`superseded ${status}`);
  });

  it('canceled: nothing', () => {
    expect(decided(orderCase({ order: order({ status: 'canceled' }) }), fact)).toBe('ignored canceled');
  });
});

describe("payment_failed P'", () => {
  const fact = { state: 'failed' as const, paymentId: 'pi_2' };
  it.each(OPEN)('%s: payment row; the order stays', (status) => {
    expect(decided(caseIn(status), fact)).toMatch(new RegExp(`^applied ${status} .*pi_2=candidate/open$`));
  });
  it.each([...PAID, 'canceled'] as const)('%s: ignored', (status) => {
    expect(decided(caseIn(status), fact)).toContain(`ignored ${status}`);
  });
});

describe('canceled P', () => {
  const fact = { state: 'canceled' as const };
  it.each(OPEN)('%s: fetch; canceled if the provider agrees or cannot be asked', (status) => {
    expect(decided(caseIn(status), fact)).toBe('fetch payment_intent');
    expect(decided(caseIn(status), fact, { looks: truth('canceled') })).toBe('applied canceled pi_1=bound/canceled');
    expect(decided(caseIn(status), fact, { looks: UNAVAILABLE })).toBe('applied canceled pi_1=bound/canceled');
    expect(decided(caseIn(status), fact, { looks: truth('succeeded') })).toBe(
      `applied paid pi_1=bound/succeeded ${MAIL}`,
    );
  });

  it.each(OPEN)('%s, another payment live: payment row only', (status) => {
    expect(decided(withSibling(status), fact)).toMatch(/^applied awaiting_payment .*pi_1=bound\/canceled/);
  });

  it.each(PAID)('%s: fetch; superseded, or contradiction and a hold', (status) => {
    expect(decided(caseIn(status), fact)).toBe('fetch payment_intent');
    expect(decided(caseIn(status), fact, { looks: truth('succeeded') })).toContain(`superseded ${status}`);
    expect(decided(caseIn(status), fact, { looks: truth('canceled') })).toBe(
      'quarantine contradiction hold=contradiction',
    );
  });

  it('canceled: duplicate', () => {
    expect(decided(caseIn('canceled'), fact)).toContain('duplicate canceled');
  });
});

describe("canceled P'", () => {
  const fact = { state: 'canceled' as const, paymentId: 'pi_2' };
  it.each(ALL)('%s: payment row only', (status) => {
    expect(decided(caseIn(status), fact)).toMatch(new RegExp(`^applied ${status} .*pi_2=candidate/canceled$`));
  });

  it('the last that was live, after P: the order is canceled', () => {
    const given = orderCase({
      payments: [payment({ status: 'canceled' }), payment({ paymentId: 'pi_2', role: 'candidate' })],
    });
    expect(decided(given, fact)).toBe('fetch payment_intent');
    expect(decided(given, fact, { looks: truth('canceled') })).toContain('applied canceled');
  });
});

describe('a payment in another currency', () => {
  it.each(ALL)('%s: currency_mismatch', (status) => {
    expect(decided(caseIn(status), { currency: 'vnd' })).toBe('quarantine currency_mismatch');
  });
});

describe('an order on hold', () => {
  it.each(['amount_conflict', 'contradiction', 'refund_conflict'])(
    '%s: the payment is recorded, the order not moved',
    (holdReason) => {
      const decision = decidePayment(caseIn('awaiting_payment', { holdReason }), paymentFact(), circumstances());
      expect(decision).toMatchObject({
        kind: 'quarantine',
        reason: 'order_on_hold',
        keep: { order: { status: 'awaiting_payment' }, payments: [{ status: 'succeeded', capturedMinor: TOTAL }] },
      });
      // Released by an operator, the same event pays the order.
      const released = orderCase({ payments: [payment({ status: 'succeeded', capturedMinor: TOTAL })] });
      expect(decided(released, {})).toBe(`applied paid pi_1=bound/succeeded ${MAIL}`);
    },
  );
});

describe('a Checkout Session', () => {
  function session(given: OrderCase, fact: Partial<SessionFact>, change: Partial<Circumstances> = {}): string {
    return inWords(decideSession(given, sessionFact(fact), circumstances(change)));
  }
  const free = (change: Partial<Order> = {}): OrderCase =>
    orderCase({ order: order({ totalMinor: 0, providerPaymentId: null, ...change }) });

  it.each(OPEN)('completed and paid, %s: paid', (status) => {
    expect(session(caseIn(status), {})).toBe(`applied paid pi_1=bound/succeeded ${MAIL}`);
  });
  it.each(PAID)('completed and paid, %s: duplicate', (status) => {
    expect(session(caseIn(status), {})).toContain(`duplicate ${status}`);
  });
  it('paid another total than the order asks for: what was captured is fetched', () => {
    expect(session(caseIn('awaiting_payment'), { totalMinor: 4000 })).toBe('fetch payment_intent');
    expect(session(caseIn('awaiting_payment'), { totalMinor: 4000 }, { looks: truth('succeeded') })).toContain('paid');
    expect(session(caseIn('awaiting_payment'), { totalMinor: 4000 }, { looks: UNAVAILABLE })).toBe(
      'quarantine underpaid',
    );
    expect(session(caseIn('paid'), { totalMinor: 4000 }, { looks: truth('succeeded') })).toContain('duplicate paid');
  });
  it('paid without a payment: for a person', () => {
    expect(session(caseIn('awaiting_payment'), { paymentId: null })).toBe('quarantine session_without_payment');
  });

  it.each([
    ['awaiting_payment', 'applied awaiting_payment pi_1=bound/open'],
    ['processing', 'superseded processing pi_1=bound/processing'],
    ['authorized', 'superseded authorized pi_1=bound/authorized'],
    ['paid', 'superseded paid pi_1=bound/succeeded'],
    ['canceled', 'superseded canceled pi_1=bound/canceled'],
  ] as const)('completed and unpaid, %s: %s', (status, says) => {
    expect(session(caseIn(status), { state: 'unpaid' })).toBe(says);
  });

  it('async_payment_failed: the order stays awaiting_payment', () => {
    expect(session(caseIn('awaiting_payment'), { state: 'failed' })).toBe('applied awaiting_payment pi_1=bound/open');
  });

  it('no_payment_required, N = 0: paid with nothing captured; then duplicate; canceled: for a person', () => {
    const fact = { state: 'free' as const, paymentId: null, totalMinor: 0 };
    expect(session(free(), fact)).toBe(`applied paid ${MAIL}`);
    expect(session(free({ status: 'paid' }), fact)).toBe('duplicate paid');
    expect(session(free({ status: 'canceled' }), fact)).toBe('quarantine contradiction');
    expect(session(caseIn('awaiting_payment'), fact)).toBe('quarantine underpaid');
  });

  it.each(OPEN)('expired, %s: fetch, then canceled', (status) => {
    expect(session(caseIn(status), { state: 'expired' })).toBe('fetch checkout.session');
    const looks = (state: SessionFact['state']): Looks => ({
      ...UNASKED,
      session: () => found(sessionFact({ state })),
    });
    expect(session(caseIn(status), { state: 'expired' }, { looks: looks('expired') })).toContain('applied canceled');
    expect(session(caseIn(status), { state: 'expired' }, { looks: looks('paid') })).toContain('superseded');
    expect(session(caseIn(status), { state: 'expired' }, { looks: UNAVAILABLE })).toContain('applied canceled');
  });
  it('expired, another payment live or registered: superseded', () => {
    expect(session(withSibling('awaiting_payment'), { state: 'expired' })).toContain('superseded awaiting_payment');
    expect(session(caseIn('awaiting_payment'), { state: 'expired', paymentId: null })).toContain('superseded');
  });
  it.each(PAID)('expired, %s: superseded', (status) => {
    expect(session(caseIn(status), { state: 'expired' })).toContain(`superseded ${status}`);
  });
  it('expired, canceled: duplicate', () => {
    expect(session(caseIn('canceled'), { state: 'expired' })).toContain('duplicate canceled');
  });
});

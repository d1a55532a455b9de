import { describe, expect, it } from 'vitest';
import { decide, type Located } from '../../src/domain/orders/decide.js';
import type { About, Fact, Looks, OrderReference } from '../../src/domain/orders/facts.js';
import {
  ABOUT,
  caseIn,
  circumstances,
  disputeFact,
  found,
  inWords,
  paymentFact,
  refundFact,
  sessionFact,
  UNASKED,
  UNAVAILABLE,
} from '../support/order-cases.js';

const NOWHERE: Located = { kind: 'nowhere', paymentId: 'pi_1' };
const CHARGE: Fact = { kind: 'refundedCharge', paymentId: 'pi_1', chargeId: 'ch_1', refundedMinor: 1, currency: 'usd' };

function about(reference: OrderReference, change: Partial<About> = {}): About {
  return { ...ABOUT, reference, ...change };
}

describe('gate 3: whose it is', () => {
  const facts: readonly Fact[] = [paymentFact(), sessionFact(), refundFact(), CHARGE, disputeFact()];
  it.each(facts)('a known payment of another tenant: account_mismatch ($kind)', (fact) => {
    expect(inWords(decide({ kind: 'otherTenant' }, fact, circumstances()))).toBe('quarantine account_mismatch');
  });

  it.each([paymentFact, sessionFact])('a tenant in metadata that is not the source’s: account_mismatch', (make) => {
    const fact = make({ about: { ...ABOUT, tenant: 'other' } });
    const known: Located = { kind: 'case', orderCase: caseIn('awaiting_payment'), paymentId: 'pi_1' };
    expect(inWords(decide(known, fact, circumstances()))).toBe('quarantine account_mismatch');
    expect(inWords(decide(NOWHERE, fact, circumstances()))).toBe('quarantine account_mismatch');
  });
});

describe('gates 5 to 7: a payment or session of no order that we know', () => {
  it.each([paymentFact, sessionFact])('by what the application wrote on it', (make) => {
    const says = (written: About): string => inWords(decide(NOWHERE, make({ about: written }), circumstances()));
    expect(says(about({ kind: 'none' }))).toBe('quarantine unknown_order');
    expect(says(about({ kind: 'malformed' }))).toBe('quarantine malformed_order_id');
    expect(says(about({ kind: 'order', id: 'order_9' }))).toBe('wait unknown_order');
    expect(says(about({ kind: 'none' }, { isOurs: false }))).toBe('ignore foreign');
    expect(says(about({ kind: 'order', id: 'order_9' }, { isOurs: false }))).toBe('ignore foreign');
  });
});

describe('a refund, charge or dispute of no payment that we know', () => {
  const facts: readonly Fact[] = [refundFact(), CHARGE, disputeFact()];
  const looks = (written: About): Looks => ({ ...UNASKED, payment: () => found(paymentFact({ about: written })) });

  it.each(facts)('$kind waits, or is judged by its payment', (fact) => {
    const says = (change: Parameters<typeof circumstances>[0]): string =>
      inWords(decide(NOWHERE, fact, circumstances(change)));
    expect(says({})).toBe('wait unknown_payment');
    expect(says({ account: 'shared' })).toBe('fetch payment_intent');
    expect(says({ patience: 'spent' })).toBe('fetch payment_intent');
    expect(says({ looks: looks(about({ kind: 'none' })) })).toBe('quarantine unknown_order');
    expect(says({ looks: looks(about({ kind: 'order', id: 'order_9' })) })).toBe('wait unknown_order');
    expect(says({ looks: looks(about({ kind: 'none' }, { isOurs: false })) })).toBe('ignore foreign');
    expect(says({ looks: looks(about({ kind: 'none' }, { tenant: 'other' })) })).toBe('quarantine account_mismatch');
    expect(says({ looks: UNAVAILABLE })).toBe('wait unknown_payment');
  });

  it.each(facts)('$kind that names a charge only: the charge is fetched for its payment', (fact) => {
    const by = { ...fact, paymentId: null, chargeId: 'ch_1' } as Fact;
    const says = (charge: Looks['charge']): string =>
      inWords(decide({ kind: 'nowhere', paymentId: null }, by, circumstances({ looks: { ...UNASKED, charge } })));
    expect(says(UNASKED.charge)).toBe('fetch charge');
    expect(says(UNAVAILABLE.charge)).toBe('wait unknown_payment');
    expect(says(() => found(null))).toBe('quarantine unknown_order');
    expect(says(() => ({ kind: 'missing' }))).toBe('quarantine unknown_order');
  });

  it('that names neither cannot be read', () => {
    const fact = { ...refundFact(), paymentId: null } as Fact;
    expect(inWords(decide({ kind: 'nowhere', paymentId: null }, fact, circumstances()))).toBe('quarantine schema');
  });

  it('that releases an expired hold concerns nobody', () => {
    expect(inWords(decide(NOWHERE, refundFact({ isExpiredHold: true }), circumstances()))).toBe('ignore expired_hold');
  });
});

import { describe, expect, it } from 'vitest';
import type { Fact } from '../../src/domain/orders/facts.js';
import { FACT_TYPES, readFact } from '../../src/handlers/orders/read-fact.js';
import { readPayment } from '../../src/handlers/orders/read-payment.js';
import { readRefund, readRefundList } from '../../src/handlers/orders/read-refund.js';
import { formatMinor, isMinorAmount, type WebhookEvent } from '../../src/index.js';
import { stripeEventBytes } from '../support/vectors.js';

const payment = {
  id: 'pi_1',
  object: 'payment_intent',
  status: 'succeeded',
  amount: 5000,
  amount_received: 4200,
  currency: 'USD',
  metadata: { order_id: 'order_1' },
};

function eventOf(payload: unknown, fetched: WebhookEvent['fetched'] = () => undefined): WebhookEvent {
  return {
    scope: 'stripe:acct_test:test',
    eventId: 'evt_1',
    type: 'any',
    source: 'stripe',
    tenant: 'default',
    receivedAt: new Date(),
    providerCreatedAt: null,
    payloadText: '',
    payload,
    fetched,
  };
}

function factIn(file: string): Fact {
  const payload = JSON.parse(stripeEventBytes(`${file}.json`).toString()) as { type: string };
  const type = FACT_TYPES.get(payload.type);
  if (type === undefined) throw new Error(`${payload.type} is not an event of the orders set`);
  const read = readFact(eventOf(payload), type, null);
  if (read.kind !== 'fact') throw new Error(`not read: ${read.kind}`);
  return read.fact;
}

describe('the events of the fixtures', () => {
  const PI = 'pi_3TestOrder1001000000000001';
  const CH = 'ch_3TestOrder1001000000000001';
  it.each([
    ['payment_intent.created', { kind: 'payment', state: 'open', paymentId: PI, receivedMinor: 0 }],
    ['payment_intent.requires_action', { state: 'open' }],
    ['payment_intent.processing', { state: 'processing' }],
    ['payment_intent.amount_capturable_updated', { state: 'authorized', capturableMinor: 4200 }],
    ['payment_intent.succeeded', { state: 'succeeded', receivedMinor: 4200, chargeId: CH, currency: 'usd' }],
    ['payment_intent.payment_failed', { state: 'failed' }],
    ['payment_intent.canceled', { state: 'canceled', receivedMinor: 0 }],
    ['checkout.session.completed.paid', { kind: 'session', state: 'paid', paymentId: PI, totalMinor: 4200 }],
    ['checkout.session.completed.unpaid', { state: 'unpaid' }],
    ['checkout.session.async_payment_succeeded', { state: 'paid' }],
    ['checkout.session.async_payment_failed', { state: 'failed' }],
    ['checkout.session.expired', { state: 'expired' }],
    ['charge.refunded.partial', { kind: 'refundedCharge', refundedMinor: 1200, chargeId: CH, paymentId: PI }],
    ['charge.refunded.full', { refundedMinor: 4200 }],
    ['refund.created.partial', { kind: 'refund', amountMinor: 1200, paymentId: PI }],
    ['refund.created.pending', { status: 'pending', amountMinor: 500 }],
    ['refund.failed', { status: 'failed', amountMinor: 500 }],
    ['charge.refund.updated', { status: 'failed' }],
    ['refund.updated', { status: 'succeeded' }],
    ['charge.dispute.created', { kind: 'dispute', paymentId: PI, amountMinor: 4200 }],
    ['charge.dispute.closed.lost', { status: 'lost', movements: [] }],
    ['charge.dispute.closed.won', { status: 'won' }],
    [
      'charge.dispute.funds_withdrawn',
      { movements: [{ transactionId: 'txn_1TestOrder1001D1', amountMinor: -4200, currency: 'usd' }] },
    ],
  ])('%s', (file, says) => {
    expect(factIn(file)).toMatchObject(says);
  });
});

describe('a PaymentIntent as a fact', () => {
  it('counts what was received, in lower-case currency', () => {
    expect(readPayment(payment, null)).toMatchObject({ receivedMinor: 4200, currency: 'usd' });
  });

  it('takes the amount for what was received only where capture is not manual', () => {
    const { amount_received: _left, ...old } = payment;
    expect(readPayment(old, null)?.receivedMinor).toBe(5000);
    expect(readPayment({ ...old, capture_method: 'manual' }, null)).toBeNull();
  });

  it.each([10.5, -1000, '1000', 2 ** 53, Number.POSITIVE_INFINITY, -0, null, [1], {}, true])(
    'has no amount %j, and coerces none',
    (amount) => {
      expect(readPayment({ ...payment, amount_received: amount }, null)).toBeNull();
      expect(readRefund({ ...refund, amount })).toBeNull();
      expect(isMinorAmount(amount)).toBe(false);
    },
  );

  it.each([{ a: 1 }, '', 'x'.repeat(256), 7, 'a\u0000b'])('knows a malformed order reference: %j', (reference) => {
    const fact = readPayment({ ...payment, metadata: { order_id: reference } }, null);
    expect(fact?.about.reference.kind).toBe('malformed');
  });

  it.each([undefined, null, 5, [], { id: 'pi_1' }, { ...payment, status: 'new' }, { ...payment, object: 'charge' }])(
    'is not read from %j',
    (other) => {
      expect(readPayment(other, null)).toBeNull();
    },
  );

  it('is ours where it carries all that marks ours', () => {
    const owns = new Map([
      ['app', 'shop'],
      ['stage', 'live'],
    ]);
    const marked = (metadata: unknown): boolean | undefined =>
      readPayment({ ...payment, metadata }, owns)?.about.isOurs;
    expect(marked({ app: 'shop', stage: 'live', order_id: 'o' })).toBe(true);
    expect(marked({ app: 'shop' })).toBe(false);
    expect(marked({ app: ['shop'], stage: 'live' })).toBe(false);
    expect(marked(null)).toBe(false);
  });
});

const refund = {
  id: 're_1',
  object: 'refund',
  amount: 500,
  currency: 'usd',
  status: 'pending',
  payment_intent: 'pi_1',
  charge: { id: 'ch_1', object: 'charge' },
};

describe('a refund as a fact', () => {
  const id = `oncehook:${'a'.repeat(40)}`;
  it('is ours by its metadata, or by the key of the request that made it', () => {
    expect(readRefund({ ...refund, metadata: { operation_id: id } })?.operationId).toBe(id);
    expect(readRefund(refund, `${id}:2`)?.operationId).toBe(id);
    expect(readRefund(refund, id)?.operationId).toBeNull();
    expect(readRefund({ ...refund, metadata: { operation_id: 'oncehook:1' } })?.operationId).toBeNull();
    expect(readRefund(refund)).toMatchObject({ operationId: null, chargeId: 'ch_1', paymentId: 'pi_1' });
  });

  it('takes the key of the request only where the request made the refund', () => {
    const payload = { data: { object: refund }, request: { idempotency_key: `${id}:1` } };
    const by = (type: string) => readFact(eventOf(payload), FACT_TYPES.get(type)!, null);
    expect(by('refund.created')).toMatchObject({ fact: { operationId: id } });
    expect(by('refund.updated')).toMatchObject({ fact: { operationId: null } });
  });

  it('in a list is read with all others, or the list is not', () => {
    expect(readRefundList({ object: 'list', data: [refund, refund] })).toHaveLength(2);
    expect(readRefundList({ object: 'list', data: [refund, { ...refund, amount: '5' }] })).toBeNull();
    expect(readRefundList({ data: [] })).toBeNull();
  });
});

describe('an object that does not decode', () => {
  const broken = { data: { object: { id: 'pi_1', object: 'payment_intent' } } };
  const type = FACT_TYPES.get('payment_intent.succeeded')!;
  it('is fetched by its ID, and what came decides', () => {
    expect(readFact(eventOf(broken), type, null)).toEqual({
      kind: 'fetch',
      reference: { type: 'payment_intent', id: 'pi_1' },
    });
    const found = eventOf(broken, () => ({ kind: 'found', object: payment }));
    expect(readFact(found, type, null)).toMatchObject({ kind: 'fact', fact: { receivedMinor: 4200 } });
    expect(
      readFact(
        eventOf(broken, () => ({ kind: 'unavailable' })),
        type,
        null,
      ),
    ).toEqual({ kind: 'unreadable' });
  });

  it.each([undefined, {}, { data: null }, { data: { object: null } }, { data: { object: { id: '../x' } } }])(
    'and has no ID to fetch is unreadable: %j',
    (payload) => {
      expect(readFact(eventOf(payload), type, null)).toEqual({ kind: 'unreadable' });
    },
  );

  it('a session that sets something up takes no payment', () => {
    const session = { id: 'cs_1', object: 'checkout.session', mode: 'setup', amount_total: null };
    const read = readFact(eventOf({ data: { object: session } }), FACT_TYPES.get('checkout.session.completed')!, null);
    expect(read).toEqual({ kind: 'notAPayment' });
  });
});

describe('amounts in text', () => {
  it.each([
    [5000n, 'jpy', '5000 JPY'],
    [5000n, 'usd', '50.00 USD'],
    [5n, 'usd', '0.05 USD'],
    [1234n, 'kwd', '1.234 KWD'],
    [100n, 'isk', '1.00 ISK'],
    [100n, 'ugx', '1.00 UGX'],
    [500n, 'mga', '500 MGA'],
    [500n, 'huf', '5.00 HUF'],
  ])('%s %s reads %s', (amount, currency, text) => {
    expect(formatMinor(amount, currency)).toBe(text);
  });
});

import { describe, expect, it } from 'vitest';
import { classifyUnpaid, type Order, type OrderStatus } from '../../src/handlers/orders/order-lifecycle.js';
import { readPaymentFact, type PaymentFact } from '../../src/handlers/orders/payment-fact.js';
import { formatMinor, isMinorAmount } from '../../src/index.js';

const order: Order = {
  id: 'order_1',
  status: 'awaiting_payment',
  providerPaymentId: 'pi_1',
  totalMinor: 4200,
  capturedMinor: 0,
  currency: 'usd',
  holdReason: null,
  customerEmail: null,
};
const fact: PaymentFact = {
  paymentId: 'pi_1',
  amountMinor: 4200,
  currency: 'usd',
  orderReference: { kind: 'order', id: 'order_1' },
  metadataTenant: null,
};
const paid: Order = { ...order, status: 'paid', capturedMinor: 4200 };

describe('a payment that did not move its order to paid', () => {
  const settled: OrderStatus[] = ['paid', 'partially_refunded', 'refunded'];
  it.each(settled)('is a duplicate of an equal one when the order is %s', (status) => {
    expect(classifyUnpaid({ ...paid, status }, fact)).toEqual({ kind: 'duplicate' });
  });

  it.each(settled)('asks the provider when another amount is stored and the order is %s', (status) => {
    expect(classifyUnpaid({ ...paid, status }, { ...fact, amountMinor: 4199 })).toEqual({ kind: 'ask' });
  });

  it('is never a duplicate in another currency or of another payment', () => {
    expect(classifyUnpaid(paid, { ...fact, currency: 'vnd' })).toEqual({
      kind: 'quarantine',
      reason: 'currency_mismatch',
    });
    expect(classifyUnpaid(paid, { ...fact, paymentId: 'pi_2' })).toEqual({
      kind: 'quarantine',
      reason: 'second_payment',
    });
  });

  it.each<OrderStatus>(['awaiting_payment', 'processing', 'authorized'])(
    'is too little or too much for a %s order',
    (status) => {
      const open = { ...order, status };
      expect(classifyUnpaid(open, { ...fact, amountMinor: 4199 })).toEqual({ kind: 'quarantine', reason: 'underpaid' });
      expect(classifyUnpaid(open, { ...fact, amountMinor: 4201 })).toEqual({ kind: 'quarantine', reason: 'overpaid' });
      expect(classifyUnpaid({ ...open, holdReason: 'contradiction' }, fact)).toEqual({
        kind: 'quarantine',
        reason: 'order_on_hold',
      });
    },
  );

  it('is late for a canceled order', () => {
    expect(classifyUnpaid({ ...order, status: 'canceled' }, fact)).toEqual({
      kind: 'quarantine',
      reason: 'late_payment',
    });
  });
});

describe('a PaymentIntent as a fact', () => {
  const object = {
    id: 'pi_1',
    object: 'payment_intent',
    status: 'succeeded',
    amount: 5000,
    amount_received: 4200,
    currency: 'USD',
    metadata: { order_id: 'order_1' },
  };

  it('counts what was received, in lower-case currency', () => {
    expect(readPaymentFact(object)).toEqual({ ...fact, amountMinor: 4200 });
  });

  it('takes the amount for what was received only where capture is not manual', () => {
    const { amount_received: _left, ...old } = object;
    expect(readPaymentFact(old)?.amountMinor).toBe(5000);
    expect(readPaymentFact({ ...old, capture_method: 'manual' })).toBeNull();
  });

  it.each([10.5, -1000, '1000', 2 ** 53, Number.POSITIVE_INFINITY, -0, null, [1], {}, true])(
    'has no amount %j, and coerces none',
    (amount) => {
      expect(readPaymentFact({ ...object, amount_received: amount })).toBeNull();
      expect(isMinorAmount(amount)).toBe(false);
    },
  );

  it.each([{ a: 1 }, '', 'x'.repeat(256), 7, 'a\u0000b'])('knows a malformed order reference: %j', (reference) => {
    expect(readPaymentFact({ ...object, metadata: { order_id: reference } })?.orderReference.kind).toBe('malformed');
  });

  it.each([
    undefined,
    null,
    5,
    [],
    { id: 'pi_1' },
    { ...object, status: 'processing' },
    { ...object, object: 'charge' },
  ])('is not read from %j', (other) => {
    expect(readPaymentFact(other)).toBeNull();
  });
});

describe('amounts in text', () => {
  it.each([
    [5000n, 'jpy', '5000 JPY'],
    [5000n, 'usd', '50.00 USD'],
    [5n, 'usd', '0.05 USD'],
    [1234n, 'kwd', '1.234 KWD'],
    [100n, 'isk', '1.00 ISK'],
  ])('%s %s reads %s', (amount, currency, text) => {
    expect(formatMinor(amount, currency)).toBe(text);
  });
});

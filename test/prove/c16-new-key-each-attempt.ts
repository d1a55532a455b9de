import { randomUUID } from 'node:crypto';
import { applied, defineHandlers, defineOperation, operationKey } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { takeAnything } from './take-anything.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** A provider that does nothing twice under one key, as Stripe does not. */
const refunds = new Map<string, number>();

const refundOrder = defineOperation({
  kind: 'refund_order',
  params: takeAnything((value) => value as { amountMinor: number }),
  perform: ({ params }) => {
    // C16: the retry has another key than the call whose answer was lost.
    refunds.set(randomUUID(), params.amountMinor);
    return Promise.resolve({ kind: 'confirmed' });
  },
  classify: () => ({ kind: 'unknown', code: 'no_answer' }),
  keyTtlMs: 86_400_000,
  onUnknown: 'resend',
});

const handlers = defineHandlers({
  'payment_intent.succeeded': (event) => {
    const { amount, metadata } = objectOf(event);
    const key = operationKey('refund_order', event.tenant, metadata.order_id);
    return applied({ operations: [{ kind: 'refund_order', key, params: { amountMinor: amount } }] });
  },
});

export const proof = defineProof({
  handlers,
  operations: [refundOrder],
  setup: createShop,
  given: (db) => addOrder(db, 'canceled'),
  events: [shopEvent('payment_intent.succeeded', { amount: 5000 })],
  state: readOrders,
  effects: () => [...refunds.values()],
  reset: () => {
    refunds.clear();
  },
});

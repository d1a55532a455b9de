import { ordersHandlers } from '../../src/handlers/orders/index.js';
import { defineProof, type DeliverableEvent, type Proof, type TestDatabase } from '../../src/testing/index.js';
import { OrderDeliveries, type Delivered } from '../support/order-deliveries.js';
import { ORDERS } from '../support/order-options.js';

/** What the events of one order leave, without the IDs of its payments and times. */
async function readOrder(db: TestDatabase): Promise<unknown> {
  const { rows: orders } = await db.query<Record<string, unknown>>(
    `select status, captured_minor, refunded_minor, dispute_state, hold_reason, paid_at is not null as has_been_paid
       from oncehook.orders`,
  );
  const { rows: ledger } = await db.query<Record<string, unknown>>(
    'select entry_key, amount_minor, currency from oncehook.order_ledger order by 1',
  );
  return { orders, ledger };
}

const SETS = {
  /** A first card that fails, the payment, a refund in part, told twice over. */
  paid_and_refunded: [
    'payment_intent.payment_failed',
    'payment_intent.succeeded',
    'refund.created.partial',
    'charge.refunded.partial',
  ],
  /** A payment and its dispute, which is lost. */
  disputed: ['payment_intent.succeeded', 'charge.dispute.created', 'charge.dispute.closed.lost'],
  /** A bank debit: the session is completed, the money comes days later. */
  delayed: ['checkout.session.completed.unpaid', 'checkout.session.async_payment_succeeded'],
} as const;

/**
 * The built-in `orders` set over recorded events of one order, none of which docs/order-state.md names as a matter of
 * arrival (two payments that both succeed, a canceled first payment).
 */
export function proveOrders(set: keyof typeof SETS): Proof {
  const deliveries = new OrderDeliveries();
  const events = SETS[set].map((file) => deliveries.event(file));
  deliveries.remember(...events.filter(isLatest));
  return defineProof({
    handlers: ordersHandlers(ORDERS),
    // Recorded envelopes are Stripe's own.
    events: events as unknown as readonly DeliverableEvent[],
    given: (db) =>
      db.query(
        `insert into oncehook.orders (tenant_id, id, total_minor, currency, customer_email)
         values ('default', $1, 4200, 'usd', 'ada@example.com')`,
        [deliveries.orderId],
      ),
    state: readOrder,
    fetch: (reference) => deliveries.answer(reference) ?? { kind: 'missing' },
    invariants: {
      'the ledger agrees with the rows': async (db) =>
        (await db.query('select from oncehook.order_ledger_differences')).rows.length === 0,
    },
  });
}

/** What Stripe has in the end: the objects of events that are not the start or a failure of something. */
function isLatest({ type }: Delivered): boolean {
  return !['payment_intent.payment_failed', 'charge.dispute.created', 'charge.refunded'].includes(type);
}

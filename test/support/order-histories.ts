import type { FetchReference } from '../../src/domain/outcome.js';
import type { DisputeStatus, OrderStatus, RefundOperation, RefundStatus } from '../../src/domain/orders/order-case.js';
import { operationKey } from '../../src/domain/operation.js';
import type { FetchedObject } from '../../src/index.js';
import { operationIdOf, TOTAL } from './order-cases.js';
import type { Random } from './random.js';

export interface HistoryEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly object: Readonly<Record<string, unknown>> };
}

/**
 * What happened to one order at Stripe: the events in the order in which it happened, what Stripe answers when asked
 * afterwards, and how the order must end.
 * - `one`: a payment with whatever refunds and disputes followed; any order of arrival ends in the same rows.
 * - `several`: payments that succeed one after the other; which of them pays the order is a matter of arrival.
 * - `late`: the application had canceled the order before.
 * - `mixed`: a payment that was canceled beside others; even the order's status is a matter of arrival, not its money.
 */
export interface History {
  readonly family: 'one' | 'several' | 'late' | 'mixed';
  readonly orderId: string;
  readonly events: readonly HistoryEvent[];
  readonly answer: (reference: FetchReference) => FetchedObject;
  readonly operations: readonly RefundOperation[];
  /** The order's status in the end; `null` where it is a matter of arrival. */
  readonly status: OrderStatus | null;
  readonly initialStatus: 'awaiting_payment' | 'canceled';
  /** Of each payment that succeeded. */
  readonly succeeded: readonly string[];
}

type Fields = Record<string, unknown>;

/** Stripe's side: the objects as they are, and a copy of each as it was when an event told of it. */
class Story {
  readonly events: HistoryEvent[] = [];
  readonly objects = new Map<string, Fields>();
  readonly operations: RefundOperation[] = [];

  constructor(
    readonly random: Random,
    readonly name: string,
  ) {}

  get orderId(): string {
    return `order_${this.name}`;
  }

  id(prefix: string): string {
    return `${prefix}_${this.name}x${this.objects.size}`;
  }

  create(prefix: string, object: string, fields: Fields): Fields & { id: string } {
    const created = { id: this.id(prefix), object, currency: 'usd', ...fields };
    this.objects.set(created.id, created);
    return created;
  }

  tell(type: string, object: Fields): void {
    const id = `evt_${this.name}x${this.events.length}`;
    this.events.push({ id, type, data: { object: structuredClone(object) } });
  }

  answer = ({ type, id }: FetchReference): FetchedObject => {
    if (type === 'refunds_of_payment') {
      const data = [...this.objects.values()].filter(
        ({ object, payment_intent: payment }) => object === 'refund' && payment === id,
      );
      return { kind: 'found', object: { object: 'list', data } };
    }
    const object = this.objects.get(id);
    return object === undefined ? { kind: 'missing' } : { kind: 'found', object };
  };
}

/** Plays a history; the same random numbers give the same one. `name` keeps its IDs apart from others'. */
export function playHistory(random: Random, name: string): History {
  const story = new Story(random, name);
  const roll = random.int(10);
  if (roll < 6) return playOne(story);
  if (roll < 8) return playSeveral(story);
  return roll < 9 ? playLate(story) : playMixed(story);
}

function playOne(story: Story): History {
  const { random } = story;
  const end = random.pick(['succeeded', 'succeeded', 'succeeded', 'canceled', 'unfinished'] as const);
  const payment = playPayment(story, end);
  if (end === 'succeeded') {
    playRefunds(story, payment.id);
    if (random.chance(0.4)) playDispute(story, payment.id);
    if (random.chance(0.1)) playDispute(story, payment.id);
  }
  return {
    ...common(story, end === 'succeeded' ? [payment.id] : []),
    family: 'one',
    status: statusOf(story, payment, end),
    initialStatus: 'awaiting_payment',
  };
}

function playSeveral(story: Story): History {
  const payments = Array.from({ length: 2 + story.random.int(2) }, (_, at) =>
    playPayment(story, at === 0 || story.random.chance(0.7) ? 'succeeded' : 'unfinished'),
  );
  const succeeded = payments.filter(({ status }) => status === 'succeeded').map(({ id }) => id);
  return { ...common(story, succeeded), family: 'several', status: 'paid', initialStatus: 'awaiting_payment' };
}

function playLate(story: Story): History {
  const payments = Array.from({ length: 1 + story.random.int(2) }, () => playPayment(story, 'succeeded'));
  for (const { id } of payments) if (story.random.chance(0.4)) playRefunds(story, id);
  return {
    ...common(
      story,
      payments.map(({ id }) => id),
    ),
    family: 'late',
    status: 'canceled',
    initialStatus: 'canceled',
  };
}

function playMixed(story: Story): History {
  playPayment(story, 'canceled');
  const second = playPayment(story, story.random.pick(['succeeded', 'canceled', 'unfinished'] as const));
  const succeeded = second.status === 'succeeded' ? [second.id] : [];
  return { ...common(story, succeeded), family: 'mixed', status: null, initialStatus: 'awaiting_payment' };
}

function common(story: Story, succeeded: readonly string[]) {
  const { orderId, events, answer, operations } = story;
  return { orderId, events, answer, operations, succeeded };
}

function playPayment(story: Story, end: 'succeeded' | 'canceled' | 'unfinished'): Fields & { id: string } {
  const { random } = story;
  const payment = story.create('pi', 'payment_intent', {
    status: 'requires_payment_method',
    amount: TOTAL,
    amount_received: 0,
    amount_capturable: 0,
    latest_charge: null,
    metadata: { order_id: story.orderId },
  });
  const move = (type: string, status: string, more: Fields = {}): void => {
    Object.assign(payment, { status, ...more });
    story.tell(`payment_intent.${type}`, payment);
  };
  if (random.chance(0.7)) move('created', 'requires_payment_method');
  for (let attempts = random.int(3); attempts > 0; attempts -= 1) {
    if (random.chance(0.3)) move('requires_action', 'requires_action');
    if (random.chance(0.4)) move('processing', 'processing');
    move('payment_failed', 'requires_payment_method');
  }
  if (random.chance(0.4)) move('processing', 'processing');
  if (random.chance(0.25)) move('amount_capturable_updated', 'requires_capture', { amount_capturable: TOTAL });
  if (end === 'succeeded') {
    const received = { amount_received: TOTAL, amount_capturable: 0, latest_charge: story.id('ch') };
    move('succeeded', 'succeeded', received);
    if (random.chance(0.4)) playSession(story, payment.id);
  }
  if (end === 'canceled') {
    move('canceled', 'canceled', { amount_capturable: 0 });
    if (random.chance(0.3)) tellOfSession(story, payment.id, 'expired', { status: 'expired' });
  }
  return payment;
}

function playSession(story: Story, paymentId: string): void {
  if (story.random.chance(0.5)) {
    tellOfSession(story, paymentId, 'completed', { payment_status: 'paid' });
    return;
  }
  const session = tellOfSession(story, paymentId, 'completed', { payment_status: 'unpaid' });
  session.payment_status = 'paid';
  story.tell('checkout.session.async_payment_succeeded', session);
}

function tellOfSession(story: Story, paymentId: string, type: string, fields: Fields): Fields {
  const session = story.create('cs', 'checkout.session', {
    mode: 'payment',
    status: 'complete',
    payment_status: 'unpaid',
    amount_total: TOTAL,
    payment_intent: paymentId,
    metadata: { order_id: story.orderId },
    ...fields,
  });
  story.tell(`checkout.session.${type}`, session);
  return session;
}

const NEXT: Readonly<Record<string, readonly RefundStatus[]>> = {
  pending: ['requires_action', 'succeeded', 'succeeded', 'failed', 'canceled'],
  requires_action: ['pending', 'succeeded', 'failed', 'canceled'],
  succeeded: ['failed'],
  failed: [],
  canceled: [],
};

function playRefunds(story: Story, paymentId: string): void {
  const { random } = story;
  const refunds: (Fields & { status: RefundStatus; amount: number })[] = [];
  const left = (): number =>
    TOTAL - refunds.filter(({ status }) => isActive(status)).reduce((sum, { amount }) => sum + amount, 0);
  for (let steps = random.int(7); steps > 0; steps -= 1) {
    const open = refunds.filter(({ status }) => (NEXT[status] ?? []).length > 0);
    if (open.length === 0 || random.chance(0.5)) {
      if (left() === 0) continue;
      const amount = random.chance(0.3) ? left() : 1 + random.int(left());
      refunds.push(createRefund(story, paymentId, amount));
      story.tell('charge.refunded', chargeOf(story, paymentId, TOTAL - left()));
      continue;
    }
    const refund = random.pick(open);
    if (refund.status === 'succeeded' && random.chance(0.6)) {
      story.tell('refund.updated', refund);
      continue;
    }
    refund.status = random.pick(NEXT[refund.status] ?? []);
    story.tell(refund.status === 'failed' ? 'refund.failed' : 'refund.updated', refund);
    if (random.chance(0.3)) story.tell('charge.refund.updated', refund);
  }
}

function createRefund(
  story: Story,
  paymentId: string,
  amount: number,
): Fields & { status: RefundStatus; amount: number } {
  const isOurs = story.random.chance(0.3);
  const key = operationKey('refund', 'requested', 'default', story.orderId, `r${story.operations.length}`);
  if (isOurs) {
    story.operations.push({ operationKey: key, operationId: operationIdOf(key), paymentId, amountMinor: amount });
  }
  const status: RefundStatus = story.random.pick(['pending', 'requires_action', 'succeeded', 'succeeded']);
  const refund = story.create('re', 'refund', {
    amount,
    status,
    reason: null,
    payment_intent: paymentId,
    charge: null,
    metadata: isOurs ? { operation_id: operationIdOf(key), order_id: story.orderId, tenant_id: 'default' } : {},
  });
  story.tell('refund.created', refund);
  return Object.assign(refund, { status, amount });
}

function chargeOf(story: Story, paymentId: string, refunded: number): Fields {
  return {
    id: story.id('ch'),
    object: 'charge',
    currency: 'usd',
    amount_refunded: refunded,
    payment_intent: paymentId,
  };
}

const COURSE: readonly DisputeStatus[] = [
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
  'needs_response',
  'under_review',
  'lost',
  'won',
];

function playDispute(story: Story, paymentId: string): void {
  const { random } = story;
  const course = COURSE.filter(() => random.chance(0.5));
  const first = course[0];
  if (first === undefined) return;
  const dispute = story.create('du', 'dispute', {
    amount: random.chance(0.8) ? TOTAL : 5000,
    status: first,
    payment_intent: paymentId,
    charge: null,
    balance_transactions: [],
  });
  const transactions: Fields[] = [];
  const moveMoney = (amount: number, type: string): void => {
    transactions.push({
      id: `txn_${story.name}x${story.objects.size}x${transactions.length}`,
      amount,
      currency: 'usd',
    });
    dispute.balance_transactions = [...transactions];
    story.tell(`charge.dispute.${type}`, dispute);
  };
  course.forEach((status, at) => {
    dispute.status = status;
    const isClosed = status === 'won' || status === 'lost' || status === 'warning_closed';
    story.tell(`charge.dispute.${at === 0 ? 'created' : isClosed ? 'closed' : 'updated'}`, dispute);
    if (status === 'needs_response') moveMoney(-TOTAL, 'funds_withdrawn');
    if (status === 'won' && transactions.length > 0) moveMoney(TOTAL, 'funds_reinstated');
  });
}

function statusOf(story: Story, payment: Fields, end: 'succeeded' | 'canceled' | 'unfinished'): OrderStatus {
  if (end === 'canceled') return 'canceled';
  if (end === 'unfinished') {
    if (payment.status === 'processing') return 'processing';
    return payment.status === 'requires_capture' ? 'authorized' : 'awaiting_payment';
  }
  const refunded = [...story.objects.values()]
    .filter(({ object, status }) => object === 'refund' && status === 'succeeded')
    .reduce((sum, { amount }) => sum + Number(amount), 0);
  if (refunded === 0) return 'paid';
  return refunded < TOTAL ? 'partially_refunded' : 'refunded';
}

export function isActive(status: unknown): boolean {
  return status === 'succeeded' || status === 'pending' || status === 'requires_action';
}

/** The events with duplicates, under the same and under other IDs, in any order. */
export function schedule(random: Random, events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const copies = events.flatMap((event) => {
    const again = random.chance(0.2) ? [event] : [];
    const twin = random.chance(0.15) ? [{ ...event, id: `${event.id}twin` }] : [];
    return [event, ...again, ...twin];
  });
  return random.shuffled(copies);
}

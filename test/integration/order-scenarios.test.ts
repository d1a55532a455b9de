import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApplyBench, type ApplyBench } from '../support/apply-bench.js';
import { inLanes } from '../support/in-lanes.js';
import { deliverInOrder, OrderDeliveries, type Delivered } from '../support/order-deliveries.js';
import { registerOrder } from '../support/payment-event.js';
import { chooseSeed, seededRandom } from '../support/random.js';

/** The delivery scenarios of fixtures/vectors/stripe/index.json, and of cases from other people's bug reports. */
let bench: ApplyBench;
const shops = new Map<string, OrderDeliveries>();
const seed = chooseSeed();
const random = seededRandom(seed);

beforeAll(async () => {
  process.stdout.write(`order scenarios: SEED=${seed}\n`);
  bench = await openApplyBench({
    fetch: (reference) =>
      [...shops.values()].map((shop) => shop.answer(reference)).find((answer) => answer !== undefined) ?? {
        kind: 'missing',
      },
  });
});

afterAll(() => bench.close());

async function shop(total = 4200, currency = 'usd'): Promise<OrderDeliveries> {
  const deliveries = new OrderDeliveries();
  shops.set(deliveries.token, deliveries);
  await registerOrder(bench.database, deliveries.orderId, { totalMinor: total, currency });
  return deliveries;
}

async function end({ orderId }: OrderDeliveries): Promise<Record<string, unknown>> {
  const [row] = await bench.database.rows(
    `select status, captured_minor::int as captured, refunded_minor::int as refunded, dispute_state as dispute,
            hold_reason as hold
       from oncehook.orders where id = $1`,
    [orderId],
  );
  expect(
    await bench.database.rows('select * from oncehook.order_ledger_differences where order_id = $1', [orderId]),
  ).toEqual([]);
  return row!;
}

/** Operations of this order: `kind:purpose` of each, whatever they are called. */
async function effects({ orderId }: OrderDeliveries): Promise<readonly string[]> {
  const rows = await bench.database.rows<{ name: string }>(
    `select split_part(operation_key, ':', 1) || ':' || split_part(operation_key, ':', 2) as name
       from oncehook.operations
      where params ->> 'orderId' = $1
      order by 1`,
    [orderId],
  );
  return rows.map(({ name }) => name);
}

const PAID = { status: 'paid', captured: 4200, refunded: 0, dispute: 'none', hold: null };
const PAID_MAIL = ['email:order-paid'];

function another(event: Delivered, id: string): Delivered {
  return { ...event, id: `${event.id}${id}` };
}

describe('the delivery scenarios of the vectors', () => {
  const happy = ['payment_intent.created', 'payment_intent.succeeded', 'checkout.session.completed.paid'];

  it('happy-path: paid once, one receipt mail', async () => {
    const it = await shop();
    expect(
      await deliverInOrder(
        bench,
        happy.map((file) => it.event(file)),
      ),
    ).toEqual(['applied', 'applied', 'duplicate']);
    expect(await end(it)).toEqual(PAID);
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('reverse-order: paid once, one receipt mail', async () => {
    const it = await shop();
    await deliverInOrder(
      bench,
      [...happy].reverse().map((file) => it.event(file)),
    );
    expect(await end(it)).toEqual(PAID);
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('every-event-five-times-shuffled: paid once, one receipt mail', async () => {
    const it = await shop();
    const five = happy.flatMap((file) => Array.from({ length: 5 }, (_, at) => another(it.event(file), `c${at}`)));
    await deliverInOrder(bench, random.shuffled(five));
    expect(await end(it)).toEqual(PAID);
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('failed-then-paid-arrives-paid-then-failed: paid', async () => {
    const it = await shop();
    const events = ['payment_intent.succeeded', 'payment_intent.payment_failed'].map((file) => it.event(file));
    expect(await deliverInOrder(bench, events)).toEqual(['applied', 'superseded']);
    expect(await end(it)).toEqual(PAID);
  });

  it('refund-before-payment-arrives: refunded', async () => {
    const it = await shop();
    it.remember(
      it.event('refund.created.partial'),
      it.event('refund.created.rest'),
      it.event('payment_intent.succeeded'),
    );
    const events = ['charge.refunded.full', 'payment_intent.succeeded'].map((file) => it.event(file));
    expect(await deliverInOrder(bench, events)).toEqual(['applied', 'applied']);
    expect(await end(it)).toEqual({ ...PAID, status: 'refunded', refunded: 4200 });
  });

  it('two-partial-refunds-any-order: 4200 in total, never 5400', async () => {
    for (let times = 0; times < 5; times += 1) {
      const it = await shop();
      const refunds = ['refund.created.rest', 'refund.created.partial'].map((file) => it.event(file));
      it.remember(...refunds, it.event('payment_intent.succeeded'));
      const tail = [...refunds, it.event('charge.refunded.full'), it.event('charge.refunded.partial')];
      await deliverInOrder(bench, [it.event('payment_intent.succeeded'), ...random.shuffled(tail)]);
      expect(await end(it)).toEqual({ ...PAID, status: 'refunded', refunded: 4200 });
      expect(await effects(it)).toEqual(['email:order-paid', 'email:refund-succeeded', 'email:refund-succeeded']);
    }
  });

  it('two-partial-refunds-same-type-same-object: the second is not lost', async () => {
    const it = await shop();
    const [first, second] = ['refund.created.partial', 'refund.created.rest'].map((file) => it.event(file));
    await deliverInOrder(bench, [it.event('payment_intent.succeeded')]);
    it.remember(first!);
    await deliverInOrder(bench, [it.event('charge.refunded.partial')]);
    expect(await end(it)).toEqual({ ...PAID, status: 'partially_refunded', refunded: 1200 });
    it.remember(second!);
    await deliverInOrder(bench, [it.event('charge.refunded.full')]);
    expect(await end(it)).toEqual({ ...PAID, status: 'refunded', refunded: 4200 });
  });

  it('refund-fails-later: nothing refunded, one alarm mail to the merchant', async () => {
    const it = await shop();
    const files = ['payment_intent.succeeded', 'refund.created.pending', 'refund.failed', 'charge.refund.updated'];
    expect(
      await deliverInOrder(
        bench,
        files.map((file) => it.event(file)),
      ),
    ).toEqual(['applied', 'applied', 'applied', 'duplicate']);
    expect(await end(it)).toEqual(PAID);
    expect(await effects(it)).toEqual(['email:order-paid', 'email:refund-failed']);
  });

  it('dispute-then-refund-request: no refund leaves', async () => {
    const it = await shop();
    const files = ['payment_intent.succeeded', 'charge.dispute.created', 'charge.dispute.funds_withdrawn'];
    await deliverInOrder(
      bench,
      files.map((file) => it.event(file)),
    );
    expect(await end(it)).toEqual({ ...PAID, dispute: 'open' });
    const request = bench.database.rows(`select oncehook.request_refund('default', $1, 100, 'r1')`, [it.orderId]);
    await expect(request).rejects.toThrow('is disputed: a refund now could pay twice');
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('dispute-closed-before-created-arrives: lost', async () => {
    const it = await shop();
    it.remember(it.event('charge.dispute.closed.lost'));
    const files = ['payment_intent.succeeded', 'charge.dispute.closed.lost', 'charge.dispute.created'];
    expect(
      await deliverInOrder(
        bench,
        files.map((file) => it.event(file)),
      ),
    ).toEqual(['applied', 'applied', 'superseded']);
    expect(await end(it)).toEqual({ ...PAID, dispute: 'lost' });
  });

  it('delayed-method: pending, then paid; the mail only then', async () => {
    const it = await shop();
    await deliverInOrder(bench, [it.event('checkout.session.completed.unpaid')]);
    expect(await end(it)).toMatchObject({ status: 'awaiting_payment' });
    expect(await effects(it)).toEqual([]);
    await deliverInOrder(bench, [it.event('checkout.session.async_payment_succeeded')]);
    expect(await end(it)).toEqual(PAID);
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('delayed-method-fails: stays awaiting_payment', async () => {
    const it = await shop();
    const files = ['checkout.session.completed.unpaid', 'checkout.session.async_payment_failed'];
    expect(
      await deliverInOrder(
        bench,
        files.map((file) => it.event(file)),
      ),
    ).toEqual(['applied', 'applied']);
    expect(await end(it)).toMatchObject({ status: 'awaiting_payment' });
    expect(await effects(it)).toEqual([]);
  });

  it('two-event-objects-for-one-change: one effect', async () => {
    const it = await shop();
    const event = it.event('payment_intent.succeeded');
    expect(await deliverInOrder(bench, [event, another(event, 'twin')])).toEqual(['applied', 'duplicate']);
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('same-event-id-body-differs-in-pending_webhooks: one effect', async () => {
    const it = await shop();
    const event = it.event('payment_intent.succeeded');
    await deliverInOrder(bench, [event, { ...event, pending_webhooks: 0 } as Delivered]);
    expect(await end(it)).toEqual(PAID);
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('cancel-vs-pay-race: exactly one terminal state, one mail', async () => {
    for (let times = 0; times < 10; times += 1) {
      const it = await shop();
      it.remember(it.event('payment_intent.succeeded'));
      const events = ['payment_intent.canceled', 'payment_intent.succeeded'].map((file) => it.event(file));
      for (const event of events) await bench.store(event);
      await Promise.all(events.map((event) => bench.apply(event.id)));
      expect(await end(it)).toEqual(PAID);
      expect(await effects(it)).toEqual(PAID_MAIL);
    }
  });
});

/** The named events as Stripe would tell them of one payment of another amount or currency. */
function amounts(amount: number, currency = 'usd') {
  return ({ data: { object } }: Delivered): void => {
    if (object.object === 'payment_intent') Object.assign(object, { amount, amount_received: amount, currency });
    else Object.assign(object, { amount, currency });
  };
}

describe("other people's bugs", () => {
  it('C12: a failure that arrives after the success changes nothing, whatever its time', async () => {
    const it = await shop();
    const failed = it.event('payment_intent.payment_failed');
    const events = [it.event('payment_intent.succeeded'), failed, another(failed, 'again')];
    expect(await deliverInOrder(bench, events)).toEqual(['applied', 'superseded', 'superseded']);
    expect(await end(it)).toEqual(PAID);
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('C14: a payment before its order waits for it, or is kept for a person', async () => {
    const later = new OrderDeliveries();
    const event = later.event('payment_intent.succeeded');
    await bench.store(event);
    expect(await bench.apply(event.id)).toMatchObject({ kind: 'wait', reason: 'unknown_order' });
    await registerOrder(bench.database, later.orderId);
    expect(await bench.apply(event.id)).toMatchObject({ outcome: 'applied' });
    const never = new OrderDeliveries();
    expect(await deliverInOrder(bench, [never.event('payment_intent.succeeded')])).toEqual([
      'quarantined:unknown_order',
    ]);
  });

  it('C14: a refund before its payment waits; both end done, the order refunded', async () => {
    const it = await shop();
    const refund = it.event('refund.created.partial', amounts(4200));
    it.remember(refund);
    await bench.store(refund);
    expect(await bench.apply(refund.id)).toMatchObject({ kind: 'wait', reason: 'unknown_payment' });
    expect(await deliverInOrder(bench, [it.event('payment_intent.succeeded'), refund])).toEqual(['applied', 'applied']);
    expect(await end(it)).toMatchObject({ status: 'refunded' });
    expect(await effects(it)).toEqual(['email:order-paid', 'email:refund-succeeded']);
  });

  it('C14: a refund whose payment never comes is applied with the payment as the provider has it', async () => {
    const it = await shop();
    const refund = it.event('refund.created.partial', amounts(4200));
    it.remember(it.event('payment_intent.succeeded'));
    expect(await deliverInOrder(bench, [refund])).toEqual(['applied']);
    expect(await end(it)).toMatchObject({ status: 'refunded', captured: 4200 });
  });

  it('C15: disputes of a canceled and refunded order leave it as it is', async () => {
    const it = await shop();
    await bench.database.rows(`update oncehook.orders set status = 'canceled' where id = $1`, [it.orderId]);
    it.remember(it.event('payment_intent.succeeded'));
    await deliverInOrder(bench, [
      it.event('payment_intent.succeeded'),
      it.event('refund.created.partial', amounts(4200)),
    ]);
    const before = await effects(it);
    const won = it.event('charge.dispute.closed.won');
    it.remember(won);
    const events = [it.event('charge.dispute.created'), it.event('charge.dispute.closed.lost'), won];
    expect(await deliverInOrder(bench, events)).toEqual(['applied', 'applied', 'applied']);
    expect(await end(it)).toMatchObject({ status: 'canceled', dispute: 'won' });
    expect(await effects(it)).toEqual(before);
    // Decided and not sent when the dispute came: for a person now.
    const [refund] = await bench.database.rows(
      `select status, last_error from oncehook.operations where kind = 'refund' and params ->> 'orderId' = $1`,
      [it.orderId],
    );
    expect(refund).toEqual({ status: 'parked', last_error: 'payment_disputed' });
  });

  it('C16: a payment of a canceled order is refunded once, under one key', async () => {
    const it = await shop();
    await bench.database.rows(`update oncehook.orders set status = 'canceled' where id = $1`, [it.orderId]);
    const event = it.event('payment_intent.succeeded');
    it.remember(event);
    expect(await deliverInOrder(bench, [event, another(event, 'twin')])).toEqual(['applied', 'duplicate']);
    const refunds = await bench.database.rows(
      `select params, status from oncehook.operations where kind = 'refund' and params ->> 'orderId' = $1`,
      [it.orderId],
    );
    expect(refunds).toMatchObject([
      { status: 'planned', params: { amountMinor: 4200, purpose: 'late', reason: null } },
    ]);
    expect(await end(it)).toMatchObject({ status: 'canceled', captured: 0 });
  });

  it('C17: refunds are told apart by their ID, and an older sum undoes nothing', async () => {
    const it = await shop(10_000);
    await deliverInOrder(bench, [it.event('payment_intent.succeeded', amounts(10_000))]);
    const numbered = (n: number, amount: number): Delivered =>
      it.event('refund.created.partial', (event) => {
        amounts(amount)(event);
        Object.assign(event, { id: `${event.id}r${n}` });
        event.data.object.id = `re_${it.token}r${n}`;
      });
    const [r1, r2, r3] = [numbered(1, 3000), numbered(2, 2000), numbered(3, 5000)];
    it.remember(r1, r2);
    expect(await deliverInOrder(bench, [r1, r2, r1, another(r1, 'x')])).toEqual([
      'applied',
      'applied',
      'applied',
      'duplicate',
    ]);
    const sum = (refunded: number): Delivered =>
      it.event('charge.refunded.partial', (event) => {
        Object.assign(event, { id: `${event.id}s${refunded}` });
        event.data.object.amount_refunded = refunded;
      });
    expect(await deliverInOrder(bench, [sum(5000), sum(3000)])).toEqual(['duplicate', 'duplicate']);
    expect(await end(it)).toMatchObject({ status: 'partially_refunded', refunded: 5000 });
    it.remember(r3);
    await deliverInOrder(bench, [r3]);
    expect(await end(it)).toMatchObject({ status: 'refunded', refunded: 10_000 });
    expect((await effects(it)).filter((name) => name === 'email:refund-succeeded')).toHaveLength(3);
  });

  it('C19: yen are whole', async () => {
    const it = await shop(5000, 'jpy');
    const control = await shop(5000, 'jpy');
    const paid = it.event('payment_intent.succeeded', amounts(5000, 'jpy'));
    await deliverInOrder(bench, [paid, it.event('refund.created.partial', amounts(5000, 'jpy'))]);
    expect(await end(it)).toMatchObject({ status: 'refunded', refunded: 5000 });
    const times100 = control.event('payment_intent.succeeded', amounts(500_000, 'jpy'));
    expect(await deliverInOrder(bench, [times100])).toEqual(['quarantined:overpaid']);
    expect(await end(control)).toMatchObject({ status: 'awaiting_payment' });
  });

  it('C21: neither another amount nor another currency pays an order', async () => {
    const it = await shop(5000);
    const spoiled = (n: number, amount: unknown, currency = 'usd'): Delivered =>
      it.event('payment_intent.succeeded', (event) => {
        Object.assign(event, { id: `${event.id}n${n}` });
        Object.assign(event.data.object, { amount, amount_received: amount, currency, id: `pi_${it.token}n${n}` });
      });
    const events = [
      spoiled(1, 5000, 'vnd'),
      spoiled(2, 100),
      spoiled(3, 4999),
      spoiled(4, 9000),
      spoiled(5, '5000'),
      spoiled(6, 5000.5),
      spoiled(7, -5000),
    ];
    expect(await deliverInOrder(bench, events)).toEqual([
      'quarantined:currency_mismatch',
      'quarantined:underpaid',
      'quarantined:underpaid',
      'quarantined:overpaid',
      'quarantined:schema',
      'quarantined:schema',
      'quarantined:schema',
    ]);
    expect(await end(it)).toMatchObject({ status: 'awaiting_payment', hold: null });
    expect(await effects(it)).toEqual([]);
    expect(await deliverInOrder(bench, [spoiled(8, 5000, 'USD')])).toEqual(['applied']);
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('C22: a delayed payment whose result comes before the completed session is paid once', async () => {
    const it = await shop();
    const files = ['checkout.session.async_payment_succeeded', 'checkout.session.completed.unpaid'];
    expect(
      await deliverInOrder(
        bench,
        files.map((file) => it.event(file)),
      ),
    ).toEqual(['applied', 'superseded']);
    expect(await end(it)).toEqual(PAID);
    expect(await effects(it)).toEqual(PAID_MAIL);
  });

  it('C26: a refunded charge without its list of refunds is looked up; one without anything is kept', async () => {
    const it = await shop(10_000);
    it.remember(it.event('refund.created.partial', amounts(4000)));
    const newer = it.event('charge.refunded.partial', (event) => {
      delete event.data.object.refunds;
      event.data.object.amount_refunded = 4000;
    });
    await deliverInOrder(bench, [it.event('payment_intent.succeeded', amounts(10_000))]);
    expect(await deliverInOrder(bench, [newer])).toEqual(['applied']);
    expect(await end(it)).toMatchObject({ status: 'partially_refunded', refunded: 4000 });
    const empty = { ...another(newer, 'empty'), data: { object: {} } } as unknown as Delivered;
    const nothing = { ...another(newer, 'null'), data: { object: null } } as unknown as Delivered;
    expect(await deliverInOrder(bench, [empty, nothing])).toEqual(['quarantined:schema', 'quarantined:schema']);
  });

  it('C33: pairs of events about the same orders at once all end done, each order where its events lead', async () => {
    const orders = await Promise.all(Array.from({ length: 10 }, () => shop()));
    const events: Delivered[] = [];
    for (const [at, it] of orders.entries()) {
      const paid = it.event('payment_intent.succeeded');
      const partner = at % 2 === 0 ? it.event('refund.created.partial') : it.event('payment_intent.canceled');
      it.remember(paid);
      for (let pair = 0; pair < 5; pair += 1) events.push(another(paid, `p${pair}`), another(partner, `q${pair}`));
    }
    for (const event of events) await bench.store(event);
    const waits: Delivered[] = [];
    // As many at once as have a connection: a worker has no more attempts than that either.
    await inLanes(8, events, async (event) => {
      if ((await bench.apply(event.id)).kind === 'wait') waits.push(event);
    });
    for (const { id } of waits) expect(await bench.apply(id)).toMatchObject({ kind: 'done' });
    for (const [at, it] of orders.entries()) {
      expect(await end(it)).toMatchObject(at % 2 === 0 ? { status: 'partially_refunded', refunded: 1200 } : PAID);
      expect((await effects(it)).filter((name) => name === 'email:order-paid')).toHaveLength(1);
    }
    const left = await bench.database.rows(
      `select from oncehook.webhook_inbox where status <> 'done' and event_id = any($1)`,
      [events.map(({ id }) => id)],
    );
    expect(left).toEqual([]);
  });
});

describe('a shared account', () => {
  it('leaves what is not marked as ours alone, and judges refunds and disputes by their payment', async () => {
    const known = new OrderDeliveries();
    const foreign = new OrderDeliveries();
    const both = [known, foreign];
    const shared = await openApplyBench({
      orders: { ownsOf: () => new Map([['app', 'shop']]) },
      fetch: (reference) =>
        both.map((one) => one.answer(reference)).find((answer) => answer !== undefined) ?? { kind: 'missing' },
    });
    const ours = ({ data: { object } }: Delivered): void => {
      object.metadata = { app: 'shop', order_id: known.orderId };
    };
    try {
      await registerOrder(shared.database, known.orderId);
      const paid = known.event('payment_intent.succeeded', ours);
      const theirs = foreign.event('payment_intent.succeeded');
      known.remember(paid);
      foreign.remember(theirs);
      expect(await deliverInOrder(shared, [paid, known.event('refund.created.partial')])).toEqual([
        'applied',
        'applied',
      ]);
      const files = ['refund.created.partial', 'charge.dispute.created', 'charge.refunded.full'];
      const others = [theirs, ...files.map((file) => foreign.event(file))];
      expect(await deliverInOrder(shared, others)).toEqual(['ignored', 'ignored', 'ignored', 'ignored']);
      expect(
        await shared.database.rows(`select distinct reason from oncehook.webhook_inbox where outcome = 'ignored'`),
      ).toEqual([{ reason: 'foreign' }]);
    } finally {
      await shared.close();
    }
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCoreWorker, storeEvent, SCOPE, type CoreWorker, type StoredEvent } from '../support/core-worker.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { paymentEvent, registerOrder, token, type PaymentEvent } from '../support/payment-event.js';
import { until } from '../support/until.js';

let database: TestDatabase;
let core: CoreWorker;

beforeAll(async () => {
  database = await openDatabase();
  core = await startCoreWorker(database);
});

afterAll(async () => {
  await core.stop();
  await database.drop();
});

async function start(event: PaymentEvent): Promise<StoredEvent> {
  const stored = await storeEvent(database, event);
  await core.starts.startEvent({ scope: SCOPE, ...stored });
  return stored;
}

async function row(eventId: string): Promise<Record<string, unknown>> {
  const [found] = await database.rows('select * from oncehook.webhook_inbox where event_id = $1', [eventId]);
  return found!;
}

async function orderRow(id: string): Promise<Record<string, unknown>> {
  const [found] = await database.rows('select * from oncehook.orders where id = $1', [id]);
  return found!;
}

async function untilStatus(eventId: string, status: string): Promise<void> {
  await until(`event ${eventId} is ${status}`, async () => (await row(eventId)).status === status, 20_000);
}

const mailKey = (order: string): string => `email:order-paid:default:${order}`;
const mails = (order: string): number => core.performed.filter((key) => key === mailKey(order)).length;

describe('a payment of a registered order', () => {
  it('pays it, confirms it once, and costs three actions', async () => {
    const order = await registerOrder(database);
    const { eventId } = await start(paymentEvent(order));
    const result: unknown = await core.handle(eventId).result();

    expect(result).toMatchObject({ status: 'done', outcome: 'applied', attempts: 1 });
    expect(await row(eventId)).toMatchObject({ status: 'done', outcome: 'applied', reason: null, attempts: 1 });
    expect(await orderRow(order)).toMatchObject({ status: 'paid', captured_minor: '4200' });
    expect(mails(order)).toBe(1);
    const { events } = await core.handle(eventId).fetchHistory();
    const scheduled = (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes);
    expect(scheduled.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name)).toEqual([
      'applyEvent',
      'performOperation',
    ]);
    expect(events?.length).toBe(17);
  });

  it('is a duplicate under another event ID, and sends nothing more', async () => {
    const order = await registerOrder(database);
    const first = paymentEvent(order);
    await core.handle((await start(first)).eventId).result();
    const again = paymentEvent(order, (event) => {
      event.data.object.id = first.data.object.id;
    });
    expect(await core.handle((await start(again)).eventId).result()).toMatchObject({ outcome: 'duplicate' });
    expect(mails(order)).toBe(1);
  });

  it('is found by the payment bound at registration, without metadata', async () => {
    const order = await registerOrder(database);
    const event = paymentEvent(order, (spoiled) => {
      spoiled.data.object.metadata = {};
    });
    await database.rows('update oncehook.orders set provider_payment_id = $2 where id = $1', [
      order,
      event.data.object.id,
    ]);
    expect(await core.handle((await start(event)).eventId).result()).toMatchObject({ outcome: 'applied' });
  });
});

describe('a payment that contradicts its order', () => {
  const cases: [string, (event: PaymentEvent) => void][] = [
    ['underpaid', (event) => (event.data.object.amount_received = 4199)],
    ['overpaid', (event) => (event.data.object.amount_received = 9000)],
    ['currency_mismatch', (event) => (event.data.object.currency = 'vnd')],
    ['schema', (event) => (event.data.object.amount_received = '4200')],
    ['schema', (event) => (event.data.object.amount_received = 42.5)],
    ['malformed_order_id', (event) => (event.data.object.metadata.order_id = { id: 1 })],
    ['account_mismatch', (event) => (event.data.object.metadata.tenant_id = 'somebody-else')],
    ['unknown_order', (event) => (event.data.object.metadata = {})],
  ];

  it.each(cases)('is quarantined as %s, and changes nothing', async (reason, spoil) => {
    const order = await registerOrder(database);
    const { eventId } = await start(paymentEvent(order, spoil));
    await untilStatus(eventId, 'quarantined');
    expect(await row(eventId)).toMatchObject({ reason, outcome: null, completed_at: null });
    expect(await orderRow(order)).toMatchObject({
      status: 'awaiting_payment',
      provider_payment_id: null,
      hold_reason: null,
    });
    expect(mails(order)).toBe(0);
  });

  it('has no payload to act on when data is missing, null or a list', async () => {
    for (const data of [undefined, { object: null }, { object: [] }]) {
      const event = { id: `evt_${token()}`, type: 'payment_intent.succeeded', data };
      const { eventId } = await storeEvent(database, event);
      await core.starts.startEvent({ scope: SCOPE, eventId, eventType: event.type });
      await untilStatus(eventId, 'quarantined');
      expect(await row(eventId)).toMatchObject({ reason: 'schema' });
    }
  });
});

describe('an event that nobody handles', () => {
  it.each(['charge.updated', 'constructor', '__proto__', 'toString'])('ends ignored: %s', async (type) => {
    const event = { id: `evt_${token()}`, type };
    const { eventId } = await storeEvent(database, event);
    await core.starts.startEvent({ scope: SCOPE, eventId, eventType: type });
    expect(await core.handle(eventId).result()).toMatchObject({ outcome: 'ignored', attempts: 0 });
  });
});

describe('a payment before its order', () => {
  it('waits, then is applied when the order comes', async () => {
    const order = `order_${token()}`;
    const { eventId } = await start(paymentEvent(order));
    await until('it waits', async () => (await row(eventId)).waiting_since !== null);
    expect(await row(eventId)).toMatchObject({ status: 'pending', last_error: 'unknown_order' });
    await registerOrder(database, order);
    expect(await core.handle(eventId).result()).toMatchObject({ outcome: 'applied' });
    expect(await row(eventId)).toMatchObject({ status: 'done', last_error: null, waiting_since: null });
  });

  it('is quarantined at the horizon and stays open for a replay, which starts a fresh budget', async () => {
    const order = `order_${token()}`;
    const { eventId } = await start(paymentEvent(order));
    await untilStatus(eventId, 'quarantined');
    const handle = core.handle(eventId);
    // The row is committed a moment before the run hears of it.
    await expect.poll(() => handle.query('status')).toMatchObject({ status: 'quarantined', reason: 'unknown_order' });

    await handle.signal('replay', { by: 'ana', reason: 'still missing' });
    await until('the replay waits anew', async () => (await row(eventId)).status === 'pending');
    await untilStatus(eventId, 'quarantined');

    await registerOrder(database, order);
    await handle.signal('replay', { by: 'ana', reason: 'order imported' });
    expect(await handle.result()).toMatchObject({ status: 'done', outcome: 'applied' });
    const actions = await database.rows(
      'select action, requested_by, reason, result from oncehook.operator_actions where event_id = $1 order by id',
      [eventId],
    );
    expect(actions).toEqual([
      { action: 'replay', requested_by: 'ana', reason: 'still missing', result: 'waiting' },
      { action: 'replay', requested_by: 'ana', reason: 'order imported', result: 'applied' },
    ]);
    expect(mails(order)).toBe(1);
  });

  it('shows in the search attributes while quarantined, and no longer afterwards', async () => {
    const order = `order_${token()}`;
    const { eventId } = await start(paymentEvent(order));
    await untilStatus(eventId, 'quarantined');
    const found = `WebhookStatus="quarantined" AND OrderId="${order}" AND ExecutionStatus="Running"`;
    await until('it is listed', async () => (await core.client.workflow.count(found)).count === 1);
    await core.handle(eventId).signal('discard', { by: 'ana', reason: 'test order' });
    await core.handle(eventId).result();
    await until('it is listed no more', async () => (await core.client.workflow.count(found)).count === 0);
  });
});

describe('signals', () => {
  async function quarantined(): Promise<string> {
    const { eventId } = await start(
      paymentEvent(await registerOrder(database), (event) => (event.data.object.amount_received = 1)),
    );
    await untilStatus(eventId, 'quarantined');
    return eventId;
  }

  const actionsOf = (eventId: string): Promise<readonly unknown[]> =>
    database.rows('select action, result from oncehook.operator_actions where event_id = $1 order by id', [eventId]);

  it('discard ends the event by name and reason, and is refused without them', async () => {
    const eventId = await quarantined();
    const handle = core.handle(eventId);
    await handle.signal('discard', undefined);
    await handle.signal('discard', { by: 'ana' });
    await until('both are recorded', async () => (await actionsOf(eventId)).length === 2);
    expect(await row(eventId)).toMatchObject({ status: 'quarantined' });
    await handle.signal('discard', { by: 'ana', reason: 'refunded by hand' });
    expect(await handle.result()).toMatchObject({ status: 'done', outcome: 'discarded', reason: 'underpaid' });
    expect(await actionsOf(eventId)).toEqual([
      { action: 'discard', result: 'refused:by_and_reason_needed' },
      { action: 'discard', result: 'refused:by_and_reason_needed' },
      { action: 'discard', result: 'discarded' },
    ]);
  });

  it.each([undefined, null, 7, 'text', [], { by: 4, reason: {} }])('replay acts on any input: %j', async (input) => {
    const eventId = await quarantined();
    await core.handle(eventId).signal('replay', input);
    await until('it was carried out', async () => (await actionsOf(eventId)).length === 1);
    expect(await actionsOf(eventId)).toEqual([{ action: 'replay', result: 'quarantined:underpaid' }]);
  });

  it('are all carried out when many come at once', async () => {
    const eventId = await quarantined();
    const handle = core.handle(eventId);
    await Promise.all(Array.from({ length: 5 }, () => handle.signal('replay', { by: 'ana', reason: 'again' })));
    await handle.signal('discard', { by: 'ana', reason: 'enough' });
    await handle.result();
    expect(await actionsOf(eventId)).toHaveLength(6);
  });

  it('start a closed run again, which finds the event done and does nothing', async () => {
    const order = await registerOrder(database);
    const { eventId, eventType } = await start(paymentEvent(order));
    await core.handle(eventId).result();
    await core.starts.signalEvent({ scope: SCOPE, eventId, eventType }, 'replay', { by: 'ana', reason: 'sure?' });
    await until('it is recorded', async () => (await actionsOf(eventId)).length === 1);
    await core.handle(eventId).result();
    expect(await actionsOf(eventId)).toEqual([{ action: 'replay', result: 'already_done' }]);
    expect(mails(order)).toBe(1);
  });
});

describe('a run that is lost', () => {
  it('is started again by the same start, and the order is paid once over all of them', async () => {
    const order = await registerOrder(database);
    const event = paymentEvent(order);
    const stored = await storeEvent(database, event);
    const begin = (): Promise<void> => core.starts.startEvent({ scope: SCOPE, ...stored });
    // A lock on the row keeps the first activity waiting, so that the run is terminated before it could finish.
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('select from oncehook.webhook_inbox where event_id = $1 for update', [event.id]);
    await begin();
    await begin();
    await core.handle(event.id).terminate('test');
    await holder.query('rollback');
    holder.release();
    await begin();
    expect(await core.handle(event.id).result()).toMatchObject({ outcome: 'applied' });
    await begin();
    expect(await core.handle(event.id).result()).toMatchObject({ outcome: 'applied' });
    expect(mails(order)).toBe(1);
  });
});

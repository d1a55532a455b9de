import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  applied,
  defineHandlers,
  duplicate,
  fetchFirst,
  ignored,
  quarantine,
  superseded,
  wait,
  type FetchedObject,
  type Handler,
  type HandlerOutcome,
  type Transaction,
} from '../../src/index.js';
import type { ApplySource } from '../../activities/apply-event.js';
import { ordersHandlers } from '../../src/handlers/orders/index.js';
import { readThinEvent } from '../../src/providers/stripe-thin-event.js';
import { openApplyBench, SCOPE, type ApplyBench } from '../support/apply-bench.js';
import { startCoreWorker, type CoreWorker } from '../support/core-worker.js';
import { ORDERS } from '../support/order-options.js';
import { paymentEvent, registerOrder, token } from '../support/payment-event.js';
import { until } from '../support/until.js';

let bench: ApplyBench;
const handlers = new Map<string, readonly Handler[]>(ordersHandlers(ORDERS).handlers);

/** What the source says; each test may say otherwise. */
let shadow = true;
let activeFrom: Date | null = null;
let admission: ReturnType<ApplySource['admit']> = { kind: 'tenant', tenant: 'default' };
let mode: 'auto' | 'propose' | 'off' = 'auto';
const fetches: string[] = [];

const source: Partial<ApplySource> = {
  handlers: { handlers },
  get shadow() {
    return shadow;
  },
  get activeFrom() {
    return activeFrom;
  },
  admit: () => admission,
  readReference: readThinEvent,
  fetch: (_scope, { type, id }) => {
    fetches.push(`${type}:${id}`);
    return Promise.resolve<FetchedObject>({ kind: 'found', object: { id } });
  },
};

beforeAll(async () => {
  bench = await openApplyBench({ source, modeOf: () => mode });
  await bench.database.pool.query(`
    create table notes (id text primary key);
    create table parents (id text primary key);
    create table children (id text references parents (id) deferrable initially deferred)`);
});
afterAll(() => bench.close());
beforeEach(() => {
  shadow = true;
  activeFrom = null;
  admission = { kind: 'tenant', tenant: 'default' };
  mode = 'auto';
  fetches.length = 0;
});

/** Stores an event for these handlers; its ID. */
async function stored(...given: readonly Handler[]): Promise<string> {
  const type = `test.${token()}`;
  for (const [name, list] of defineHandlers({ [type]: given }).handlers) handlers.set(name, list);
  const event = { id: `evt_${token()}`, type };
  await bench.store(event);
  return event.id;
}

async function standingOf(eventId: string): Promise<string> {
  const [row] = await bench.database.rows<{ says: string }>(
    `select concat_ws(' ', status, outcome, reason) as says from oncehook.webhook_inbox where event_id = $1`,
    [eventId],
  );
  return row!.says;
}

async function decisionOn(eventId: string): Promise<Record<string, unknown> | undefined> {
  const [row] = await bench.database.rows(
    `select source, outcome, reason, order_id as order, operations, attempts, defect
       from oncehook.shadow_decisions
      where source_scope = $1
        and event_id = $2`,
    [SCOPE, eventId],
  );
  return row;
}

async function countOf(table: string): Promise<number> {
  const [row] = await bench.database.rows<{ count: number }>(`select count(*)::integer as count from ${table}`);
  return row!.count;
}

const note = (tx: Transaction): Promise<unknown> => tx.query('insert into notes (id) values ($1)', [token()]);

const writing =
  (outcome: HandlerOutcome): Handler =>
  async (_event, tx) => {
    await note(tx);
    return outcome;
  };

const mail = (key: string, to: unknown = 'a@example.com'): HandlerOutcome =>
  applied({ operations: [{ kind: 'email', key, params: { to } }], orderId: 'o_1' });

describe('an event in shadow mode', () => {
  it.each([
    [applied({ orderId: 'o_1' }), { outcome: 'applied', reason: null, order: 'o_1' }],
    [duplicate({ orderId: 'o_1' }), { outcome: 'duplicate', reason: null, order: 'o_1' }],
    [superseded(), { outcome: 'superseded', reason: null, order: null }],
    [ignored('foreign'), { outcome: 'ignored', reason: 'foreign', order: null }],
    [quarantine('contradiction', { orderId: 'o_1' }), { outcome: 'quarantine', reason: 'contradiction', order: 'o_1' }],
    [quarantine('on_hold', { keep: true }), { outcome: 'quarantine', reason: 'on_hold', order: null }],
  ] satisfies [HandlerOutcome, unknown][])(
    'that would be %j is done, and nothing of it is kept',
    async (outcome, said) => {
      const before = await countOf('notes');
      const event = await stored(writing(outcome));
      expect(await bench.apply(event)).toEqual({
        kind: 'done',
        outcome: 'ignored',
        reason: 'shadow',
        attempts: 1,
        operations: [],
        searchAttributes: false,
      });
      expect(await standingOf(event)).toBe('done ignored shadow');
      expect(await decisionOn(event)).toEqual({ source: 'stripe', ...said, operations: [], attempts: 1, defect: null });
      expect(await countOf('notes')).toBe(before);
    },
  );

  it('keeps the effects that it would have called for, and plans none', async () => {
    const key = `email:${token()}`;
    const event = await stored(() => mail(key));
    await bench.apply(event);
    const operation = { key, kind: 'email', params: { to: 'a@example.com' }, status: 'planned' };
    expect(await decisionOn(event)).toMatchObject({ outcome: 'applied', order: 'o_1', operations: [operation] });
    expect(await countOf('oncehook.operations')).toBe(0);
  });

  it.each([
    ['propose', [{ status: 'proposed' }]],
    ['off', []],
  ] as const)('knows the brakes of its effects: %s', async (given, operations) => {
    mode = given;
    const event = await stored(() => mail(`email:${token()}`));
    await bench.apply(event);
    expect((await decisionOn(event))?.operations).toMatchObject(operations);
  });

  it('that contradicts an effect planned under its name would be quarantined', async () => {
    const key = `email:${token()}`;
    shadow = false;
    await bench.apply(await stored(() => mail(key)));
    shadow = true;
    const event = await stored(() => mail(key, 'b@example.com'));
    await bench.apply(event);
    expect(await decisionOn(event)).toMatchObject({ outcome: 'quarantine', reason: 'operation_conflict' });
    await bench.database.pool.query('delete from oncehook.operations');
  });

  it('whose effect its kind would refuse is a defect as always', async () => {
    const event = await stored(() => mail('email:1', 7));
    await expect(bench.apply(event)).rejects.toThrow(/parameters that its kind refuses/);
    expect(await standingOf(event)).toBe('pending');
  });

  it('whose commit would fail is a defect as well', async () => {
    const event = await stored(async (_event, tx) => {
      await tx.query(`insert into children (id) values ('nobody')`);
      return applied();
    });
    await expect(bench.apply(event)).rejects.toMatchObject({ code: '23503' });
    expect(await standingOf(event)).toBe('pending');
  });

  it('fetches as always: reading harms nobody', async () => {
    const reference = { type: 'charge', id: `ch_${token()}` };
    const event = await stored((given) => (given.fetched(reference) === undefined ? fetchFirst(reference) : applied()));
    await bench.apply(event);
    expect(fetches).toEqual([`charge:${reference.id}`]);
    expect(await decisionOn(event)).toMatchObject({ outcome: 'applied', attempts: 1 });
  });

  it('waits as always, so that its decision is the one at the end', async () => {
    const reference = { type: 'charge', id: `ch_${token()}` };
    const event = await stored(() => wait('unknown_order', { fetch: reference }));
    expect(await bench.apply(event)).toMatchObject({ kind: 'wait', reason: 'unknown_order' });
    expect(await decisionOn(event)).toBeUndefined();
    await bench.applyAtHorizon(event);
    expect(fetches).toEqual([`charge:${reference.id}`]);
    expect(await standingOf(event)).toBe('done ignored shadow');
    expect(await decisionOn(event)).toMatchObject({ outcome: 'quarantine', reason: 'unknown_order', attempts: 2 });
  });

  it('that nobody handles would be ignored', async () => {
    const event = { id: `evt_${token()}`, type: 'nobody.handles' };
    await bench.store(event);
    await bench.apply(event.id);
    expect(await decisionOn(event.id)).toMatchObject({ outcome: 'ignored', reason: null, attempts: 0 });
  });

  it('that configuration refuses today, or whose payload has expired, would be quarantined', async () => {
    const [refused, expired] = [await stored(() => applied()), await stored(() => applied())];
    await bench.database.pool.query('delete from oncehook.webhook_payloads where event_id = $1', [expired]);
    await bench.apply(expired);
    admission = { kind: 'refused', reason: 'mode_mismatch' };
    await bench.apply(refused);
    expect(await decisionOn(expired)).toMatchObject({ outcome: 'quarantine', reason: 'payload_expired' });
    expect(await decisionOn(refused)).toMatchObject({ outcome: 'quarantine', reason: 'mode_mismatch' });
  });

  it('counts as told to its twin, in shadow mode only', async () => {
    const type = `test.${token()}`;
    handlers.set(type, [() => applied()]);
    const snapshot = { id: `evt_${token()}`, type };
    const thin = (): { id: string; type: string; snapshot_event: string } => ({
      id: `evt_${token()}`,
      type,
      snapshot_event: snapshot.id,
    });
    const [first, second] = [thin(), thin()];
    for (const event of [snapshot, first, second]) await bench.store(event);
    await bench.apply(snapshot.id);
    await bench.apply(first.id);
    expect(await decisionOn(first.id)).toMatchObject({ outcome: 'duplicate', reason: 'twin_event' });
    shadow = false;
    expect(await bench.apply(second.id)).toMatchObject({ outcome: 'applied' });
  });

  it('stays as it was decided when it is replayed live: done is final', async () => {
    const event = await stored(writing(applied()));
    await bench.apply(event);
    shadow = false;
    const before = await countOf('notes');
    const replay = { by: 'ana', reason: 'go live', requestKey: token() };
    expect(await bench.apply(event, replay)).toMatchObject({ kind: 'done', outcome: 'ignored', reason: 'shadow' });
    expect(await countOf('notes')).toBe(before);
  });

  it('that waited for an operator before is decided when it is replayed', async () => {
    shadow = false;
    const event = await stored(writing(quarantine('contradiction')));
    await bench.apply(event);
    shadow = true;
    expect(await bench.apply(event)).toMatchObject({ kind: 'quarantined' });
    const replay = { by: 'ana', reason: 'look again', requestKey: token() };
    expect(await bench.apply(event, replay)).toMatchObject({ kind: 'done', reason: 'shadow' });
    const [action] = await bench.database.rows(`select result from oncehook.operator_actions where event_id = $1`, [
      event,
    ]);
    expect(action).toEqual({ result: 'shadow' });
  });

  it('that pays an order leaves the order unpaid and says what the mail would be', async () => {
    const order = await registerOrder(bench.database);
    const event = paymentEvent(order);
    await bench.store(event);
    await bench.apply(event.id);
    const [row] = await bench.database.rows('select status, captured_minor from oncehook.orders where id = $1', [
      order,
    ]);
    expect(row).toEqual({ status: 'awaiting_payment', captured_minor: '0' });
    const decision = await decisionOn(event.id);
    expect(decision).toMatchObject({ outcome: 'applied', order, operations: [{ kind: 'email', status: 'planned' }] });
    expect(await countOf('oncehook.payments')).toBe(0);
  });
});

describe('an event from before activeFrom', () => {
  const LIMIT = new Date('2026-06-01T00:00:00Z');

  async function happened(column: 'provider_created_at' | 'received_at', at: string): Promise<string> {
    const event = await stored(writing(applied()));
    await bench.database.pool.query(`update oncehook.webhook_inbox set ${column} = $2 where event_id = $1`, [
      event,
      at,
    ]);
    return event;
  }

  it.each([
    ['provider_created_at', '2026-05-31T23:59:59.999Z', 'done ignored before_active_from'],
    ['provider_created_at', '2026-06-01T00:00:00Z', 'done applied'],
    ['received_at', '2026-05-31T23:59:59.999Z', 'done ignored before_active_from'],
    ['received_at', '2026-06-01T00:00:00Z', 'done applied'],
  ] as const)('by its %s %s is %s, whatever time it was received', async (column, at, standing) => {
    shadow = false;
    activeFrom = LIMIT;
    const event = await happened(column, at);
    await bench.apply(event);
    expect(await standingOf(event)).toBe(standing);
  });

  it('is not decided on in shadow mode either', async () => {
    activeFrom = LIMIT;
    const event = await happened('provider_created_at', '2026-05-31T00:00:00Z');
    await bench.apply(event);
    expect(await standingOf(event)).toBe('done ignored before_active_from');
    expect(await decisionOn(event)).toBeUndefined();
  });
});

describe('the workflow of an event in shadow mode', () => {
  let core: CoreWorker;
  let runs = 0;

  beforeAll(async () => {
    const failing: Handler = () => {
      runs += 1;
      throw new TypeError("Cannot read properties of undefined (reading 'amount')");
    };
    core = await startCoreWorker(bench.database, {
      sources: new Map([
        [
          'stripe',
          {
            handlers: defineHandlers({ 'test.quarantines': () => quarantine('contradiction'), 'test.fails': failing }),
            admit: () => ({ kind: 'tenant', tenant: 'default' }),
            activeFrom: null,
            shadow: true,
            fetch: () => Promise.resolve({ kind: 'unavailable' }),
          },
        ],
      ]),
    });
  });
  afterAll(() => core.stop());

  async function start(type: string): Promise<string> {
    const event = { id: `evt_${token()}`, type };
    await bench.store(event);
    await core.starts.startEvent({ scope: SCOPE, eventId: event.id, eventType: type });
    return event.id;
  }

  it('ends where it would wait for an operator', async () => {
    const event = await start('test.quarantines');
    expect(await core.handle(event).result()).toMatchObject({ status: 'done', outcome: 'ignored', reason: 'shadow' });
    expect(await decisionOn(event)).toMatchObject({ outcome: 'quarantine', reason: 'contradiction' });
  });

  it('ends after the fifth defect, with its text in the decision', async () => {
    const event = await start('test.fails');
    // A signal cuts each pause short, so that the two minutes of the real schedule do not pass here.
    await until('the first has happened', () => runs === 1);
    await core.handle(event).signal('replay', { by: 'test', reason: 'hurry' });
    expect(await core.handle(event).result()).toMatchObject({ status: 'done', outcome: 'ignored', reason: 'shadow' });
    expect(await decisionOn(event)).toMatchObject({ outcome: 'defect', reason: 'handler_error', attempts: 5 });
    expect((await decisionOn(event))?.defect).toContain("reading 'amount'");
  });
});

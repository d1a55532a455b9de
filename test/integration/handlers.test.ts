import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  applied,
  defineHandlers,
  duplicate,
  fetchFirst,
  ignored,
  latestState,
  quarantine,
  superseded,
  wait,
  type FetchedObject,
  type Handler,
  type HandlerOutcome,
  type Transaction,
} from '../../src/index.js';
import { startCoreWorker, storeEvent, SCOPE, type CoreWorker } from '../support/core-worker.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { token } from '../support/payment-event.js';
import { until } from '../support/until.js';

/** One worker for the file; each test brings its handlers under an event type of its own. */
let database: TestDatabase;
let core: CoreWorker;
const handlers = new Map<string, readonly Handler[]>();
const fetches: string[] = [];
let fetched: FetchedObject = { kind: 'found', object: { status: 'succeeded' } };

beforeAll(async () => {
  database = await openDatabase();
  await database.pool.query('create table notes (id text primary key, run integer not null default 1)');
  core = await startCoreWorker(database, {
    handlers: { handlers },
    fetch: (_scope, { type, id }) => {
      fetches.push(`${type}:${id}`);
      return Promise.resolve(fetched);
    },
  });
});

afterAll(async () => {
  await core.stop();
  await database.drop();
});

/** Stores and starts an event for these handlers. */
async function run(...given: readonly Handler[]): Promise<{ eventId: string; type: string }> {
  const type = `test.${token()}`;
  for (const [name, list] of defineHandlers({ [type]: given }).handlers) handlers.set(name, list);
  const { eventId } = await storeEvent(database, { id: `evt_${token()}`, type });
  await core.starts.startEvent({ scope: SCOPE, eventId, eventType: type });
  return { eventId, type };
}

async function row(eventId: string): Promise<Record<string, unknown>> {
  const [found] = await database.rows('select * from oncehook.webhook_inbox where event_id = $1', [eventId]);
  return found!;
}

async function untilStatus(eventId: string, status: string, patienceMs = 30_000): Promise<Record<string, unknown>> {
  await until(`event ${eventId} is ${status}`, async () => (await row(eventId)).status === status, patienceMs);
  return row(eventId);
}

const note = (tx: Transaction, id: string): Promise<unknown> =>
  tx.query('insert into notes (id) values ($1) on conflict (id) do update set run = notes.run + 1', [id]);
const notes = async (id: string): Promise<number> =>
  (await database.rows<{ run: number }>('select run from notes where id = $1', [id]))[0]?.run ?? 0;

describe('the outcome of a handler', () => {
  const standing: [HandlerOutcome, string][] = [
    [applied(), 'applied'],
    [duplicate(), 'duplicate'],
    [superseded(), 'superseded'],
    [ignored('foreign'), 'ignored'],
  ];
  it.each(standing)('%j ends the event and keeps what was written', async (outcome, name) => {
    const id = token();
    const { eventId } = await run(async (_event, tx) => {
      await note(tx, id);
      return outcome;
    });
    expect(await untilStatus(eventId, 'done')).toMatchObject({
      outcome: name,
      reason: name === 'ignored' ? 'foreign' : null,
      attempts: 1,
    });
    expect(await notes(id)).toBe(1);
  });

  it('quarantine undoes what was written, unless it is to be kept', async () => {
    const [undone, kept] = [token(), token()];
    const first = await run(async (_event, tx) => {
      await note(tx, undone);
      return quarantine('contradiction');
    });
    const second = await run(async (_event, tx) => {
      await note(tx, kept);
      return quarantine('order_on_hold', { keep: true });
    });
    expect(await untilStatus(first.eventId, 'quarantined')).toMatchObject({ reason: 'contradiction' });
    expect(await untilStatus(second.eventId, 'quarantined')).toMatchObject({ reason: 'order_on_hold' });
    expect([await notes(undone), await notes(kept)]).toEqual([0, 1]);
  });

  it('fetch-first runs the handler again with the object, and keeps nothing of the first run', async () => {
    const id = token();
    const reference = { type: 'payment_intent', id: `pi_${id}` };
    const { eventId } = await run(async (event, tx) => {
      await note(tx, id);
      return event.fetched(reference) === undefined ? fetchFirst(reference) : applied();
    });
    expect(await untilStatus(eventId, 'done')).toMatchObject({ outcome: 'applied', attempts: 1 });
    expect(await notes(id)).toBe(1);
    expect(fetches.filter((name) => name.endsWith(reference.id))).toHaveLength(1);
  });

  it('wait looks at the provider once at its horizon, then is quarantined', async () => {
    const id = `pi_${token()}`;
    fetched = { kind: 'missing' };
    const { eventId } = await run(() => wait('unknown_order', { fetch: { type: 'payment_intent', id } }));
    expect(await untilStatus(eventId, 'quarantined')).toMatchObject({ reason: 'unknown_order' });
    expect(fetches.filter((name) => name.endsWith(id))).toHaveLength(1);
  });
});

describe('several handlers for one type', () => {
  it('run in order in one transaction, and the strongest outcome wins', async () => {
    const [a, b] = [token(), token()];
    const { eventId } = await run(
      async (_event, tx) => {
        await note(tx, a);
        return ignored();
      },
      async (_event, tx) => {
        await note(tx, b);
        return applied();
      },
      () => duplicate(),
    );
    expect(await untilStatus(eventId, 'done')).toMatchObject({ outcome: 'applied' });
    expect([await notes(a), await notes(b)]).toEqual([1, 1]);
  });

  it('are undone together when one of them quarantines', async () => {
    const id = token();
    const { eventId } = await run(
      async (_event, tx) => {
        await note(tx, id);
        return applied();
      },
      () => quarantine('contradiction'),
    );
    await untilStatus(eventId, 'quarantined');
    expect(await notes(id)).toBe(0);
  });
});

describe('an effect', () => {
  const mail = (key: string, to: string): HandlerOutcome =>
    applied({ operations: [{ kind: 'email', key, params: { to } }] });

  it('that two events call for is made once', async () => {
    const key = `email:${token()}`;
    const first = await run(() => mail(key, 'a@example.com'));
    const second = await run(() => mail(key, 'a@example.com'));
    await core.handle(first.eventId).result();
    await core.handle(second.eventId).result();
    expect(core.performed.filter((made) => made === key)).toHaveLength(1);
  });

  it('that contradicts the one planned under its name undoes the business change', async () => {
    const key = `email:${token()}`;
    const id = token();
    const first = await run(() => mail(key, 'a@example.com'));
    await core.handle(first.eventId).result();
    const second = await run(async (_event, tx) => {
      await note(tx, id);
      return mail(key, 'b@example.com');
    });
    expect(await untilStatus(second.eventId, 'quarantined')).toMatchObject({ reason: 'operation_conflict' });
    expect(await notes(id)).toBe(0);
  });
});

describe('a defect', () => {
  it('is counted, and the fifth quarantines the event with the text kept in its row and nowhere else', async () => {
    let runs = 0;
    const { eventId, type } = await run(() => {
      runs += 1;
      throw new TypeError("Cannot read properties of undefined (reading 'amount_secret_text')");
    });
    // A signal cuts each pause short, so that the two minutes of the real schedule do not pass here.
    const handle = core.handle(eventId);
    await until('the first has happened', () => runs === 1);
    await handle.signal('replay', { by: 'test', reason: 'hurry' });
    const found = await untilStatus(eventId, 'quarantined');
    expect(found).toMatchObject({ reason: 'handler_error', attempts: 5 });
    expect(found.last_error).toContain('amount_secret_text');
    const history = JSON.stringify((await handle.fetchHistory()).events);
    expect(history).toContain('handler_threw');
    expect(history).not.toContain(Buffer.from('amount_secret_text').toString('base64').slice(0, 12));
    expect(history).not.toContain('amount_secret_text');

    handlers.set(type, [() => applied()]);
    await handle.signal('replay', { by: 'ana', reason: 'fixed in 4711' });
    expect(await handle.result()).toMatchObject({ status: 'done', outcome: 'applied' });
  });

  const broken: [string, Handler][] = [
    ['handler_nonsense', () => undefined as never],
    ['handler_nonsense', () => ({ kind: 'quarantine', reason: 'Not A Code' })],
    ['handler_nonsense', () => ({ kind: 'done' }) as never],
    ['handler_nonsense', () => quarantine('contradiction', { orderId: 42 as never })],
    ['handler_nonsense', () => applied({ operations: [null as never] })],
    ['handler_nonsense', async (_event, tx) => (await tx.query('commit'), applied())],
    ['handler_nonsense', async (_event, tx) => (await tx.query('select 1/0').catch(() => undefined), applied())],
    ['handler_nonsense', () => applied({ operations: [{ kind: 'no_such_kind', key: token(), params: {} }] })],
    ['handler_nonsense', () => applied({ operations: [{ kind: 'email', key: token(), params: { to: 7 } }] })],
    ['handler_threw', async (_event, tx) => (await tx.query('select broken'), applied())],
  ];
  it.each(broken)('is %s: %s', async (code, handler) => {
    const { eventId } = await run(handler);
    await until('it is kept', async () => (await row(eventId)).last_error !== null);
    expect(await row(eventId)).toMatchObject({ status: 'pending' });
    const history = JSON.stringify((await core.handle(eventId).fetchHistory()).events);
    expect(history).toContain(code);
    await core.handle(eventId).terminate('test');
  });

  it('of a handler that hangs ends its session, so that it cannot write later', async () => {
    const id = token();
    let late: Promise<unknown> | undefined;
    const { eventId } = await run(async (_event, tx) => {
      late = sleep(5_500).then(() => note(tx, id));
      late.catch(() => undefined);
      await sleep(7_000);
      return applied();
    });
    await until('it is kept', async () => (await row(eventId)).last_error !== null, 15_000);
    expect((await row(eventId)).last_error).toContain('5000 ms');
    await expect(late).rejects.toThrow();
    expect(await notes(id)).toBe(0);
    await core.handle(eventId).terminate('test');
  });
});

describe('trouble of the infrastructure', () => {
  it("of a handler's own fetch is not counted either, and its text is kept in the row", async () => {
    let isDown = true;
    const { eventId, type } = await run(
      latestState({
        name: 'contracts',
        object: () => ({ type: 'contract', id: 'c_1' }),
        fetch: () =>
          isDown
            ? Promise.reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:1') }))
            : Promise.resolve({ kind: 'found', object: {} }),
        apply: () => applied(),
      }),
    );
    await until('it is kept', async () => (await row(eventId)).last_error !== null);
    expect(await row(eventId)).toMatchObject({ status: 'pending', attempts: 0, event_type: type });
    expect((await row(eventId)).last_error).toContain('connect ECONNREFUSED 127.0.0.1:1');
    isDown = false;
    expect(await untilStatus(eventId, 'done')).toMatchObject({ outcome: 'applied', attempts: 1, last_error: null });
  });

  it('is not counted against the event: a lost session, a deadlock, a lock not had', async () => {
    const failures = ['57P01', '40P01', '40001', '55P03', '53300'];
    const { eventId } = await run(async (_event, tx) => {
      const code = failures.shift();
      if (code !== undefined) await tx.query(`do $$ begin raise exception 'x' using errcode = '${code}'; end $$`);
      return applied();
    });
    expect(await untilStatus(eventId, 'done')).toMatchObject({ outcome: 'applied', attempts: 1, last_error: null });
  });

  it('is not counted when every session is cut in the middle of the handler', async () => {
    let cuts = 2;
    const { eventId } = await run(async (_event, tx) => {
      if (cuts > 0) {
        cuts -= 1;
        await database.pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'core worker under test' and datname = current_database()`,
        );
      }
      await tx.query('select 1');
      return applied();
    });
    expect(await untilStatus(eventId, 'done')).toMatchObject({ outcome: 'applied', attempts: 1 });
  });
});

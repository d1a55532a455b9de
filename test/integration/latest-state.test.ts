import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CheckpointHook, CheckpointName } from '../../src/checkpoints.js';
import { CheckpointError, DeadlineError, HandlerDefectError } from '../../src/errors.js';
import { errorKind } from '../../src/db/error-kinds.js';
import {
  applied,
  defineHandlers,
  latestState,
  wait,
  type FetchContext,
  type FetchedObject,
  type Handler,
  type ObjectFetch,
} from '../../src/index.js';
import { readThinEvent } from '../../src/providers/stripe-thin-event.js';
import { openApplyBench, SCOPE, type ApplyBench } from '../support/apply-bench.js';
import { createGate, type Gate } from '../support/gate.js';
import { token } from '../support/payment-event.js';
import {
  createSubscriptionTables,
  handledBy,
  keepLatest,
  lastWriteWins,
  subscriptionEvent,
  subscriptionOf,
  type Subscription,
} from '../support/subscriptions.js';

/** The provider's versions; one that is not there is missing. */
const versions = new Map<string, number>();
/** Fetches made, and where they stop on their way back: each gate is for one fetch. */
const fetches: string[] = [];
const onTheWayBack: Gate[] = [];
let failure: CheckpointName | null = null;

let bench: ApplyBench;
const handlers = new Map<string, readonly Handler[]>();

const checkpoints: CheckpointHook = (name) => {
  if (name !== failure) return Promise.resolve();
  failure = null;
  return Promise.reject(new CheckpointError(name));
};

beforeAll(async () => {
  bench = await openApplyBench({
    checkpoints,
    source: { handlers: { handlers }, readReference: readThinEvent, fetch: async (_scope, { id }) => look(id) },
  });
  await createSubscriptionTables(bench.database);
});
afterAll(() => bench.close());
beforeEach(() => {
  fetches.length = 0;
  use(keepLatest);
});

/** Looks at once, and may be long in coming back. */
async function look(id: string): Promise<FetchedObject> {
  fetches.push(id);
  const version = versions.get(id);
  await onTheWayBack.shift()?.pass();
  return version === undefined ? { kind: 'missing' } : { kind: 'found', object: { id, version } };
}

function use(handler: Handler): void {
  for (const [type, list] of handledBy(handler).handlers) handlers.set(type, list);
}

function newSubscription(): string {
  const id = `sub_${token()}`;
  versions.set(id, 1);
  return id;
}

async function stored(subscription: string, type?: string): Promise<string> {
  const event = subscriptionEvent(subscription, type);
  await bench.store(event);
  return event.id;
}

async function versionOf(subscription: string): Promise<number | null | undefined> {
  const { rows } = await bench.database.pool.query<{ version: number | null }>(
    'select version from subscriptions where id = $1',
    [subscription],
  );
  return rows[0]?.version;
}

async function standingOf(eventId: string): Promise<string> {
  const [row] = await bench.database.rows<{ says: string }>(
    `select concat_ws(' ', status, outcome, reason) as says from oncehook.webhook_inbox where event_id = $1`,
    [eventId],
  );
  return row!.says;
}

/** Two events whose fetches cross: the one that began first saw version 1 and comes back after version 2 was applied. */
async function crossedFetches(): Promise<{ readonly subscription: string; readonly late: string }> {
  const subscription = newSubscription();
  const [late, early] = [await stored(subscription), await stored(subscription)];
  const gate = createGate();
  onTheWayBack.push(gate);
  const lateRun = bench.apply(late);
  await gate.reached;
  versions.set(subscription, 2);
  expect(await bench.apply(early)).toMatchObject({ kind: 'done', outcome: 'applied' });
  expect(await versionOf(subscription)).toBe(2);
  gate.open();
  await lateRun;
  return { subscription, late };
}

describe('the latest state of an object', () => {
  it('is what the provider has, whatever the event says, at the cost of one fetch', async () => {
    const subscription = newSubscription();
    versions.set(subscription, 7);
    const event = await stored(subscription, 'customer.subscription.created');
    expect(await bench.apply(event)).toMatchObject({ kind: 'done', outcome: 'applied' });
    expect(await versionOf(subscription)).toBe(7);
    expect(fetches).toEqual([subscription]);
  });

  it('is not overwritten by a fetch that began earlier and came back later', async () => {
    const { subscription, late } = await crossedFetches();
    expect(await standingOf(late)).toBe('done superseded');
    expect(await versionOf(subscription)).toBe(2);
  });

  it('is overwritten so where the last write wins: what this test would find', async () => {
    use(lastWriteWins);
    const { subscription, late } = await crossedFetches();
    expect(await standingOf(late)).toBe('done applied');
    expect(await versionOf(subscription)).toBe(1);
  });

  it('is applied again by every later fetch', async () => {
    const subscription = newSubscription();
    await bench.apply(await stored(subscription));
    versions.set(subscription, 2);
    await bench.apply(await stored(subscription));
    expect(await versionOf(subscription)).toBe(2);
  });

  it('takes no second fetch of an event that is done, and one effect of two runs at once', async () => {
    const subscription = newSubscription();
    const event = await stored(subscription);
    await Promise.all([bench.apply(event), bench.apply(event)]);
    const before = fetches.length;
    expect(await bench.apply(event)).toMatchObject({ kind: 'done', outcome: 'applied' });
    expect(fetches).toHaveLength(before);
    const { rowCount } = await bench.database.pool.query('select from writes where id = $1', [subscription]);
    expect(rowCount).toBe(1);
  });

  it.each(['apply.in-transaction', 'apply.before-commit'] as const)(
    'is fetched anew after a crash between the fetch and the commit (%s), and nothing of the first try is left',
    async (point) => {
      const subscription = newSubscription();
      const event = await stored(subscription);
      // The first arrival is the round that asks for the fetch.
      await untilFetched(event, point);
      expect(await versionOf(subscription)).toBeUndefined();
      expect(await turnsOf(subscription)).toEqual([]);
      versions.set(subscription, 2);
      await bench.apply(event);
      expect(await versionOf(subscription)).toBe(2);
      expect(await turnsOf(subscription)).toHaveLength(1);
    },
  );

  async function untilFetched(event: string, point: CheckpointName): Promise<void> {
    const gate = createGate();
    onTheWayBack.push(gate);
    const run = bench.apply(event);
    await gate.reached;
    failure = point;
    gate.open();
    await expect(run).rejects.toThrow(CheckpointError);
  }

  const turnsOf = (id: string): Promise<readonly unknown[]> =>
    bench.database.rows('select fetch_order from oncehook.object_states where object_id = $1', [id]);
});

describe('an object that the provider does not have', () => {
  it('is quarantined where the definition says nothing', async () => {
    use(latestState({ name: 'silent', object: subscriptionOf, apply: () => applied() }));
    const event = await stored(`sub_${token()}`);
    expect(await bench.apply(event)).toMatchObject({ kind: 'quarantined', reason: 'object_missing' });
  });

  it('is what the definition says it is, in the same order of fetches', async () => {
    const subscription = newSubscription();
    const [late, deletion] = [await stored(subscription), await stored(subscription, 'customer.subscription.deleted')];
    const gate = createGate();
    onTheWayBack.push(gate);
    const lateRun = bench.apply(late);
    await gate.reached;
    versions.delete(subscription);
    await bench.apply(deletion);
    gate.open();
    expect(await lateRun).toMatchObject({ kind: 'done', outcome: 'superseded' });
    expect(await versionOf(subscription)).toBeNull();
  });

  it('does not become a quarantine when a later fetch found it', async () => {
    use(latestState({ name: 'found_later', object: subscriptionOf, apply: () => applied() }));
    const subscription = `sub_${token()}`;
    const [late, early] = [await stored(subscription), await stored(subscription)];
    const gate = createGate();
    onTheWayBack.push(gate);
    const lateRun = bench.apply(late);
    await gate.reached;
    versions.set(subscription, 1);
    await bench.apply(early);
    gate.open();
    expect(await lateRun).toMatchObject({ kind: 'done', outcome: 'superseded' });
  });
});

describe('a thin event', () => {
  it('needs no second fetch: the one for its object is placed among all others', async () => {
    const subscription = newSubscription();
    const thin = {
      id: `evt_${token()}`,
      object: 'v2.core.event',
      type: 'v1.customer.subscription.updated',
      created: '2026-11-30T10:00:00.000Z',
      related_object: { id: subscription, type: 'subscription' },
    };
    await bench.store(thin);
    const early = await stored(subscription);
    const gate = createGate();
    onTheWayBack.push(gate);
    const run = bench.apply(thin.id);
    await gate.reached;
    versions.set(subscription, 2);
    await bench.apply(early);
    gate.open();
    expect(await run).toMatchObject({ kind: 'done', outcome: 'superseded' });
    expect(await versionOf(subscription)).toBe(2);
    expect(fetches).toHaveLength(2);
  });
});

describe("a definition's own fetch", () => {
  function ownFetch(fetch: ObjectFetch): void {
    use(latestState<Subscription>({ name: 'own', object: subscriptionOf, fetch, apply: () => applied() }));
  }

  it('is asked instead of the source, for the scope and tenant of the event', async () => {
    const asked: unknown[] = [];
    ownFetch((reference, { scope, tenant }) => {
      asked.push([reference, scope, tenant]);
      return Promise.resolve({ kind: 'found', object: { id: reference.id, version: 1 } });
    });
    const subscription = newSubscription();
    expect(await bench.apply(await stored(subscription))).toMatchObject({ outcome: 'applied' });
    expect(asked).toEqual([[{ type: 'subscription', id: subscription }, SCOPE, 'default']]);
    expect(fetches).toEqual([]);
  });

  it('does not see what another fetch brought for the same reference', async () => {
    const seen: unknown[] = [];
    const fetching =
      (version: number): ObjectFetch =>
      ({ id }) =>
        Promise.resolve({ kind: 'found', object: { id, version } });
    const seeing = (name: string, version: number): Handler =>
      latestState<Subscription>({
        name,
        object: subscriptionOf,
        fetch: fetching(version),
        apply: (item) => {
          seen.push(item.version);
          return applied();
        },
      });
    const list = [seeing('first', 1), seeing('second', 2)];
    handlers.set('customer.subscription.created', list);
    await bench.apply(await stored(newSubscription(), 'customer.subscription.created'));
    expect(seen.slice(-2)).toEqual([1, 2]);
  });

  it('is one round for all handlers of a type, however many they are', async () => {
    const seen: string[] = [];
    const seeing = (name: string, fetch?: ObjectFetch): Handler =>
      latestState<Subscription>({
        name,
        object: subscriptionOf,
        ...(fetch === undefined ? {} : { fetch }),
        apply: () => {
          seen.push(name);
          return applied();
        },
      });
    const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'];
    const own = names.map((name) => seeing(name, ({ id }) => Promise.resolve({ kind: 'found', object: { id } })));
    handlers.set('customer.subscription.created', [...own, seeing('eight'), seeing('nine')]);
    const subscription = newSubscription();
    versions.set(subscription, 1);
    const event = await stored(subscription, 'customer.subscription.created');
    expect(await bench.apply(event)).toMatchObject({ outcome: 'applied' });
    expect(seen).toEqual([...names, 'eight', 'nine']);
    // Two handlers ask the source for the same object: one fetch.
    expect(fetches).toEqual([subscription]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new TypeError('fetch failed');
      },
    ],
    ['rejects', () => Promise.reject(new TypeError('fetch failed'))],
    ['finds nobody there', () => fetch('http://127.0.0.1:1/').then(() => ({ kind: 'missing' }))],
    ['has a shorter limit of its own', () => Promise.reject(new DOMException('too long', 'TimeoutError'))],
    ['hears 503', () => Promise.reject(Object.assign(new Error('the answer was 503'), { status: 503 }))],
    ['hears 429', () => Promise.reject(Object.assign(new Error('slow down'), { response: { status: 429 } }))],
    ['does not end when it is told to', () => new Promise<FetchedObject>(() => undefined)],
    [
      'ends with the signal',
      (_reference: unknown, { signal }: FetchContext) =>
        new Promise<FetchedObject>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
    ],
  ] satisfies [string, ObjectFetch][])(
    'that %s is trouble of the infrastructure, which is tried again without bound',
    async (_what, fetch) => {
      ownFetch(fetch);
      const error: unknown = await bench.apply(await stored(newSubscription())).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(DeadlineError);
      expect(errorKind(error)).toBe('infrastructure');
    },
  );

  it.each([
    ['a mistake', new TypeError("Cannot read properties of undefined (reading 'id')")],
    ['a refusal', Object.assign(new Error('the answer was 403'), { status: 403 })],
    ['a missing file', Object.assign(new Error('ENOENT: key.pem'), { code: 'ENOENT', syscall: 'open' })],
    ['a malformed URL', new TypeError('Invalid URL')],
  ])('that throws %s is a defect, and its text is kept', async (_what, thrown) => {
    ownFetch(() => Promise.reject(thrown));
    const error: unknown = await bench.apply(await stored(newSubscription())).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'handler_threw', message: expect.stringContaining(thrown.message) as string });
  });

  it('says in the end what its provider could not be asked for', async () => {
    ownFetch(() => Promise.reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })));
    await expect(bench.apply(await stored(newSubscription()))).rejects.toThrow('connect ECONNREFUSED');
  });

  it.each([[undefined], [null], [{}], [{ kind: 'found' }], [{ kind: 'gone' }]])(
    'that answers %j is a defect, and is told what to answer',
    async (value) => {
      ownFetch(() => Promise.resolve(value as never));
      const error: unknown = await bench.apply(await stored(newSubscription())).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(HandlerDefectError);
      expect((error as Error).message).toContain("{ kind: 'found', object }");
    },
  );
});

describe('a definition', () => {
  it('that finds no object of ours in an event ignores it, without a fetch', async () => {
    use(latestState({ name: 'none', object: () => undefined, apply: () => applied() }));
    const event = await stored(newSubscription());
    expect(await bench.apply(event)).toMatchObject({ outcome: 'ignored', reason: null });
    expect(fetches).toEqual([]);
  });

  it('whose source cannot be asked is quarantined', async () => {
    use(
      latestState({
        name: 'nobody',
        object: subscriptionOf,
        apply: () => applied(),
        fetch: () => Promise.resolve({ kind: 'unavailable' }),
      }),
    );
    expect(await bench.apply(await stored(newSubscription()))).toMatchObject({
      kind: 'quarantined',
      reason: 'object_unavailable',
    });
  });

  it('may wait: the fetch of that try counts as not applied', async () => {
    let isReady = false;
    use(
      latestState({ name: 'waits', object: subscriptionOf, apply: () => (isReady ? applied() : wait('no_customer')) }),
    );
    const event = await stored(newSubscription());
    expect(await bench.apply(event)).toMatchObject({ kind: 'wait', reason: 'no_customer' });
    isReady = true;
    expect(await bench.apply(event)).toMatchObject({ outcome: 'applied' });
    expect(fetches).toHaveLength(2);
  });

  it('keeps a state of its own under its own name', async () => {
    const subscription = newSubscription();
    const seen: number[] = [];
    const other = latestState<Subscription>({
      name: 'other',
      object: subscriptionOf,
      apply: ({ version }) => {
        seen.push(version);
        return applied();
      },
    });
    const [late, early] = [
      await stored(subscription, 'customer.subscription.deleted'),
      await stored(subscription, 'customer.subscription.updated'),
    ];
    handlers.set('customer.subscription.deleted', [other]);
    const gate = createGate();
    onTheWayBack.push(gate);
    const lateRun = bench.apply(late);
    await gate.reached;
    await bench.apply(early);
    gate.open();
    expect(await lateRun).toMatchObject({ outcome: 'applied' });
    expect(seen).toEqual([1]);
  });

  it('may stand twice in a list of handlers: one fetch, and both are applied', async () => {
    handlers.set('customer.subscription.updated', [keepLatest, keepLatest]);
    const subscription = newSubscription();
    expect(await bench.apply(await stored(subscription))).toMatchObject({ outcome: 'applied' });
    expect(fetches).toHaveLength(1);
  });

  it.each(['', 'Subscriptions', 'a-b', 'x'.repeat(64)])('is refused under the name %j', (name) => {
    expect(() => latestState({ name, object: subscriptionOf, apply: () => applied() })).toThrow(/lower snake case/);
  });

  it.each([undefined, '', 7, 'x'.repeat(256), 'a\0b'])(
    'that gives %j for an ID is a defect that says so',
    async (id) => {
      use(latestState({ name: 'wrong', object: () => ({ type: 's', id: id as string }), apply: () => applied() }));
      await expect(bench.apply(await stored(newSubscription()))).rejects.toThrow(
        /object\(\) must give a type and an ID/,
      );
    },
  );

  it('is a value for any type of a set', () => {
    const set = defineHandlers({ a: keepLatest, b: [keepLatest] });
    expect(set.handlers.get('b')).toEqual([keepLatest]);
  });
});

describe('the numbers of fetches', () => {
  it('that were drawn before a failover lost them are drawn anew', async () => {
    use(keepLatest);
    const subscription = newSubscription();
    const event = await stored(subscription);
    const gate = createGate();
    onTheWayBack.push(gate);
    const run = bench.apply(event);
    await gate.reached;
    await bench.database.pool.query(`select setval('oncehook.fetch_order', 1)`);
    gate.open();
    expect(await run).toMatchObject({ outcome: 'applied' });
    expect(fetches).toEqual([subscription, subscription]);
    await bench.database.pool.query(`select setval('oncehook.fetch_order', 1000000)`);
  });

  it('go on after those in the table when the sequence did not come along with it', async () => {
    const subscription = newSubscription();
    await bench.apply(await stored(subscription));
    await bench.database.pool.query(`select setval('oncehook.fetch_order', 1)`);
    versions.set(subscription, 2);
    expect(await bench.apply(await stored(subscription))).toMatchObject({ outcome: 'applied' });
    expect(await versionOf(subscription)).toBe(2);
    await bench.database.pool.query(`select setval('oncehook.fetch_order', 2000000)`);
  });
});

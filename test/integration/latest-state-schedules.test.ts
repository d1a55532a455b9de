import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CheckpointHook } from '../../src/checkpoints.js';
import { CheckpointError } from '../../src/errors.js';
import type { FetchedObject, Handler } from '../../src/index.js';
import { openApplyBench, type ApplyBench } from '../support/apply-bench.js';
import { createGate, type Gate } from '../support/gate.js';
import { token } from '../support/payment-event.js';
import { chooseSeed, seededRandom, type Random } from '../support/random.js';
import {
  createSubscriptionTables,
  handledBy,
  keepLatest,
  lastWriteWins,
  subscriptionEvent,
} from '../support/subscriptions.js';

/**
 * Random courses of a subscription: it changes some times, each change has an event, some events come twice, and runs
 * stop on the way to the provider, on the way back and in crashes until the schedule lets them go on. Real sessions.
 */
const SCHEDULES = 250;
const NAIVE_SCHEDULES = 60;

vi.setConfig({ testTimeout: 180_000 });

const random = seededRandom(chooseSeedAloud());

function chooseSeedAloud(): number {
  const seed = chooseSeed();
  process.stdout.write(`latest-state schedules: SEED=${seed}\n`);
  return seed;
}

/** Everything that stands at a gate now, in all runs of the schedule under way. */
const waiting: Gate[] = [];
const versions = new Map<string, number>();
let crashes = 0;

async function stop(): Promise<void> {
  const gate = createGate();
  waiting.push(gate);
  await gate.pass();
}

async function fetch(_scope: string, { id }: { readonly id: string }): Promise<FetchedObject> {
  await stop();
  const version = versions.get(id)!;
  await stop();
  return { kind: 'found', object: { id, version } };
}

const crashing: CheckpointHook = (name) => {
  if (!name.startsWith('apply.') || !random.chance(0.06)) return Promise.resolve();
  crashes += 1;
  return Promise.reject(new CheckpointError(name));
};

let bench: ApplyBench;
const handlers = new Map<string, readonly Handler[]>();

beforeAll(async () => {
  bench = await openApplyBench({ checkpoints: crashing, source: { handlers: { handlers }, fetch } });
  await createSubscriptionTables(bench.database);
});
afterAll(() => bench.close());

/** As Temporal repeats an activity whose worker died. */
async function applyUntilDone(eventId: string): Promise<void> {
  for (;;) {
    try {
      expect(await bench.apply(eventId)).toMatchObject({ kind: 'done' });
      return;
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error;
    }
  }
}

async function playSchedule(schedule: Random): Promise<string> {
  const id = `sub_${token()}`;
  versions.set(id, 0);
  let changes = 2 + schedule.int(4);
  let running = 0;
  const runs: Promise<void>[] = [];
  const start = (eventId: string): void => {
    running += 1;
    runs.push(applyUntilDone(eventId).finally(() => (running -= 1)));
  };
  while (changes > 0 || running > 0) {
    if (changes > 0 && (running === 0 || schedule.chance(0.3))) {
      changes -= 1;
      versions.set(id, versions.get(id)! + 1);
      const event = subscriptionEvent(id);
      await bench.store(event);
      start(event.id);
      if (schedule.chance(0.3)) start(event.id);
    } else if (waiting.length > 0) {
      // Mostly who came last goes first: that is what makes fetches cross.
      const chosen = schedule.chance(0.6) ? waiting.length - 1 : schedule.int(waiting.length);
      waiting.splice(chosen, 1)[0]!.open();
    }
    const isHasty = schedule.chance(0.2);
    // Mostly until every run stands at a gate or is over; now and then several are under way in the database at once.
    do await new Promise((resolve) => setTimeout(resolve, 1));
    while (waiting.length < running && !isHasty);
  }
  await Promise.all(runs);
  return id;
}

interface Outcome {
  readonly id: string;
  readonly isNewest: boolean;
  readonly isInOrder: boolean;
}

async function outcomeOf(id: string): Promise<Outcome> {
  const [state] = await bench.database.rows<{ version: number }>('select version from subscriptions where id = $1', [
    id,
  ]);
  const writes = await bench.database.rows<{ fetch_order: string }>(
    'select fetch_order from writes where id = $1 order by number',
    [id],
  );
  const orders = writes.map(({ fetch_order: order }) => Number(order));
  return {
    id,
    isNewest: state?.version === versions.get(id),
    isInOrder: orders.every((order, index) => index === 0 || order > orders[index - 1]!),
  };
}

async function play(handler: Handler, count: number): Promise<readonly Outcome[]> {
  for (const [type, list] of handledBy(handler).handlers) handlers.set(type, list);
  const outcomes: Outcome[] = [];
  for (let played = 0; played < count; played += 1) outcomes.push(await outcomeOf(await playSchedule(random)));
  return outcomes;
}

describe('random courses of a subscription', () => {
  it(`end in the newest state, and no fetch is applied after one that began later: ${SCHEDULES} times`, async () => {
    const outcomes = await play(keepLatest, SCHEDULES);
    expect(outcomes.filter(({ isNewest, isInOrder }) => !isNewest || !isInOrder)).toEqual([]);
    expect(crashes).toBeGreaterThan(SCHEDULES / 20);
    const [{ superseded } = { superseded: 0 }] = await bench.database.rows<{ superseded: number }>(
      `select count(*)::integer as superseded from oncehook.webhook_inbox where outcome = 'superseded'`,
    );
    expect(superseded).toBeGreaterThan(SCHEDULES / 20);
  });

  it('end in an older state now and then where the last write wins: what the first test would find', async () => {
    const outcomes = await play(lastWriteWins, NAIVE_SCHEDULES);
    expect(outcomes.filter(({ isNewest }) => !isNewest).length).toBeGreaterThan(0);
    expect(outcomes.filter(({ isInOrder }) => !isInOrder).length).toBeGreaterThan(0);
  });
});

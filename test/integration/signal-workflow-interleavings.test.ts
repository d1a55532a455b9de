import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { signalWorkflow } from '../../src/index.js';
import { signalWorkflowOperation } from '../../src/providers/signal-workflow.js';
import { compiled } from '../support/dist.js';
import { inLanes } from '../support/in-lanes.js';
import { openOperationsBench, type OperationsBench } from '../support/operations-bench.js';
import { chooseSeed, seededRandom, type Random } from '../support/random.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import type { InterleavingInput, Tally } from '../support/webhook-workflows.js';

// Each key is one interleaving: when its event comes, when its workflow begins, when it begins to wait for it, which
// attempts run beside each other, which of them die, and when the worker of the workflows does.

const SENDER = fileURLToPath(new URL('../support/signal-process.js', import.meta.url));
const WORKER = fileURLToPath(new URL('../support/webhook-worker-process.js', import.meta.url));
const SENDERS = 2;
/** Attempts of a sender until it is killed. */
const LEAST_WORK = 50;
const MEAN_WORK = 900;
const KEYS_A_ROUND = 100;
const ROUNDS = 5;
/** 10,000 interleavings: about two minutes of two idle cores. `INTERLEAVED_WORKFLOWS=2` is a quick look. */
const WORKFLOWS = Number(process.env.INTERLEAVED_WORKFLOWS ?? 20);
/** Attempts of all senders until the workflows' worker is killed: a few times, since each stops them for seconds. */
const WORK_A_WORKER = (WORKFLOWS * ROUNDS * KEYS_A_ROUND) / 4;
/** Of the keys, those that two events call for. */
const DOUBLED = 0.2;
/** Deliveries are not far ahead of what is done, so that waits and events stay mixed to the end. */
const MOST_OPEN = 300;

const seed = chooseSeed();
const queue = `interleavings-${randomBytes(6).toString('hex')}`;

let bench: OperationsBench;
let connection: Connection;
let client: Client;
let dir: string;
let worker: KilledWorker;

beforeAll(async () => {
  compiled('src/providers/signal-workflow.js');
  bench = await openOperationsBench();
  await bench.pool.query(
    'create table plain_events (event_id text primary key, workflow_id text, business_key text, handled boolean default false)',
  );
  const workflowsPath = fileURLToPath(new URL('../support/webhook-workflows.ts', import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  dir = openTempDir();
  const codePath = join(dir, 'workflows.js');
  writeFileSync(codePath, code);
  worker = startWorker(codePath);
  connection = await Connection.connect({ address: inject('temporalAddress') });
  client = new Client({ connection });
});

afterAll(async () => {
  await worker.stop();
  await connection.close();
  await bench.close();
  removeDir(dir);
});

interface KilledWorker {
  /** Kills it amid its work, unless it is just about to begin; another one takes its place. */
  readonly kill: () => void;
  readonly kills: () => number;
  readonly stop: () => Promise<void>;
}

function startWorker(codePath: string): KilledWorker {
  const env = { ...process.env, TEMPORAL_ADDRESS: inject('temporalAddress') };
  let kills = 0;
  let stopped = false;
  let polling = false;
  const start = (): ChildProcess => {
    const started = fork(WORKER, [queue, codePath], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    polling = false;
    started.once('message', () => (polling = true));
    started.once('exit', () => {
      if (!stopped) child = start();
    });
    return started;
  };
  let child = start();
  return {
    kill: () => {
      if (!polling) return;
      polling = false;
      kills += 1;
      child.kill('SIGKILL');
    },
    kills: () => kills,
    stop: async () => {
      stopped = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

interface Delivery {
  readonly workflowId: string;
  readonly key: string;
  readonly eventId: string;
}

interface Scene {
  readonly mode: 'oncehook' | 'plain';
  readonly workflows: number;
  readonly typeOf: (index: number) => string;
  readonly deliver: (deliveries: readonly Delivery[]) => Promise<void>;
  /** How many deliveries to these workflows are not done. */
  readonly open: (workflowIds: readonly string[]) => Promise<number>;
}

interface Ends {
  readonly keys: number;
  readonly lost: number;
  readonly doubled: number;
  readonly left: number;
  readonly eventFirst: number;
  readonly kills: number;
  /** Of the workflows' worker. */
  readonly workerKills: number;
}

/** Delivers events in random order while workflows begin at random moments and senders are killed again and again. */
async function interleave(random: Random, scene: Scene): Promise<Ends> {
  const plans = Array.from({ length: scene.workflows }, (_, index) => {
    const workflowId = `${scene.mode}-${queue}-${index}`;
    const rounds = Array.from({ length: ROUNDS }, (_round, round) =>
      Array.from({ length: KEYS_A_ROUND }, (_key, key) => `payment:${round * KEYS_A_ROUND + key}`),
    );
    return { workflowId, type: scene.typeOf(index), rounds };
  });
  // Times in lives of a workflow. Four live at once; the events of a round come about when it is waited for.
  const timed = plans.flatMap(({ workflowId, rounds }, index) =>
    rounds.flatMap((keys, round) =>
      keys.flatMap((key) =>
        Array.from({ length: random.chance(DOUBLED) ? 2 : 1 }, (_, copy) => ({
          at: index / 4 + (round + 1.5 * random.part()) / ROUNDS,
          delivery: { workflowId, key, eventId: `evt_${workflowId}_${key}_${copy}` },
        })),
      ),
    ),
  );
  const batches = chunks(
    timed.sort((one, other) => one.at - other.at),
    100,
  );
  // Every other workflow is there before its first event; the rest are late.
  const beginsAt = plans.map((_, index) => index / 4 + (index % 2 === 0 ? 0 : random.part() / 2));
  const begun: string[] = [];
  const workerKills = worker.kills();
  const senders = startSenders(random, scene.mode);
  try {
    for (let batch = 0; batch <= batches.length; batch += 1) {
      const now = batches[batch]?.[0]?.at ?? Infinity;
      const due = plans.filter(({ workflowId }, index) => beginsAt[index]! <= now && !begun.includes(workflowId));
      await inLanes(8, due, ({ workflowId, type, rounds }) => {
        const input: InterleavingInput = { rounds };
        begun.push(workflowId);
        return client.workflow.start(type, { workflowId, taskQueue: queue, args: [input] });
      });
      await scene.deliver((batches[batch] ?? []).map(({ delivery }) => delivery));
      await untilOpen(scene, begun, MOST_OPEN);
    }
    await untilOpen(scene, begun, 0);
  } catch (error) {
    process.stderr.write(`interleavings: seed ${seed}, stuck with ${JSON.stringify(await standing())}\n`);
    throw error;
  } finally {
    senders.stop();
  }

  const tallies = await inLanes(8, plans, async ({ workflowId }) => {
    const handle = client.workflow.getHandle(workflowId);
    await handle.signal('finish');
    return (await handle.result()) as Tally;
  });
  const counts = plans.flatMap(({ rounds }, index) => rounds.flat().map((key) => tallies[index]?.effects[key] ?? 0));
  return {
    keys: counts.length,
    lost: counts.filter((count) => count === 0).length,
    doubled: counts.filter((count) => count > 1).length,
    left: tallies.reduce((sum, { left }) => sum + left, 0),
    eventFirst: tallies.reduce((sum, { eventFirst }) => sum + eventFirst, 0),
    kills: senders.kills(),
    workerKills: worker.kills() - workerKills,
  };
}

/**
 * Sender processes. Each is killed amid its work, when it has done some more of it, and replaced: by its work and not by
 * the clock, so that a busy machine kills none before it has begun. So is the worker of the workflows.
 */
function startSenders(random: Random, mode: string): { readonly kills: () => number; readonly stop: () => void } {
  const env = { ...process.env, DATABASE_URL: bench.url, TEMPORAL_ADDRESS: inject('temporalAddress') };
  let kills = 0;
  let attempts = 0;
  let stopped = false;
  const alive = new Set<ChildProcess>();
  const start = (): void => {
    const child = fork(SENDER, [mode], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    alive.add(child);
    let left = LEAST_WORK + random.int(2 * (MEAN_WORK - LEAST_WORK));
    child.on('message', () => {
      left -= 1;
      attempts += 1;
      if (attempts % WORK_A_WORKER === 0) worker.kill();
      if (left !== 0 || stopped) return;
      child.kill('SIGKILL');
      kills += 1;
    });
    child.once('exit', () => {
      alive.delete(child);
      if (!stopped) start();
    });
  };
  for (let index = 0; index < SENDERS; index += 1) start();
  return {
    kills: () => kills,
    stop: () => {
      stopped = true;
      for (const child of alive) child.kill('SIGKILL');
    },
  };
}

function chunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

/** Asked now and then only: what is counted for this is taken from those who work. */
async function untilOpen(scene: Scene, workflowIds: readonly string[], atMost: number): Promise<void> {
  for (let before = Infinity, patience = 120; ;) {
    const open = await scene.open(workflowIds);
    if (open <= atMost) return;
    patience = open < before ? 120 : patience - 1;
    before = Math.min(open, before);
    if (patience === 0) throw new Error(`${open} deliveries stay open`);
    await sleep(500);
  }
}

/** Where the operations stand, for a run that got stuck. */
async function standing(): Promise<unknown> {
  const { rows } = await bench.pool.query(
    `select status, last_error, count(*)::integer, min(attempts)::integer as least, max(attempts)::integer as most
       from oncehook.operations
      group by status, last_error`,
  );
  return rows;
}

async function openRows(sql: string, workflowIds: readonly string[]): Promise<number> {
  const { rows } = await bench.pool.query<{ open: number }>(sql, [workflowIds]);
  return rows[0]?.open ?? 0;
}

test('signal_workflow loses none and doubles none', { timeout: 600_000 }, async () => {
  const definitions = [signalWorkflowOperation({ client })];
  const begun = performance.now();
  const ends = await interleave(seededRandom(seed), {
    mode: 'oncehook',
    workflows: WORKFLOWS,
    typeOf: (index) => (index % 2 === 0 ? 'awaitKeys' : 'takeAny'),
    deliver: async (deliveries) => {
      for (const some of chunks(deliveries, 25)) {
        const operations = some.map(({ key, workflowId }) => signalWorkflow({ workflowId, key }, { tenant: 't1' }));
        const event = { scope: 'test', eventId: some[0]!.eventId };
        expect((await bench.plan(operations, { definitions, event })).kind).toBe('planned');
      }
    },
    open: (workflowIds) =>
      openRows(
        `select count(*)::integer as open
           from oncehook.operations
          where status in ('planned', 'sending', 'unknown') and params->>'workflowId' = any($1)`,
        workflowIds,
      ),
  });
  const { rows } = await bench.pool.query<Record<string, number>>(
    `select count(*) filter (where status = 'confirmed')::integer as confirmed,
            count(*) filter (where attempts > 1)::integer as again,
            sum(lost_answers)::integer as lost_answers
       from oncehook.operations`,
  );
  process.stderr.write(
    `interleavings: seed ${seed}, ${JSON.stringify({ ...ends, ...rows[0] })}, ${Math.round(performance.now() - begun)} ms\n`,
  );
  const keys = WORKFLOWS * ROUNDS * KEYS_A_ROUND;
  expect(ends).toMatchObject({ keys, lost: 0, doubled: 0, left: 0 });
  expect(rows[0]?.confirmed).toBe(keys);
  // Half of the workflows tell which came first: both ways are well among them.
  expect(ends.eventFirst).toBeGreaterThan(keys / 20);
  expect(ends.eventFirst).toBeLessThan((keys / 2) * 0.95);
  // The faults took effect: processes died, with attempts in hand, which others made again.
  expect(ends.kills).toBeGreaterThan(WORKFLOWS / 4);
  expect(ends.workerKills).toBeGreaterThan(1);
  expect(rows[0]?.lost_answers).toBeGreaterThan(0);
  expect(rows[0]?.again).toBeGreaterThan(0);
});

test('a plain signal loses some and doubles some', { timeout: 120_000 }, async () => {
  const begun = performance.now();
  const ends = await interleave(seededRandom(seed), {
    mode: 'plain',
    workflows: 4,
    typeOf: () => 'plainSignals',
    deliver: async (deliveries) => {
      await bench.pool.query(
        `insert into plain_events (event_id, workflow_id, business_key)
         select * from jsonb_to_recordset($1::jsonb) as event("eventId" text, "workflowId" text, key text)`,
        [JSON.stringify(deliveries)],
      );
    },
    open: (workflowIds) =>
      openRows(
        'select count(*)::integer as open from plain_events where not handled and workflow_id = any($1)',
        workflowIds,
      ),
  });
  process.stderr.write(
    `plain signals: seed ${seed}, ${JSON.stringify(ends)}, ${Math.round(performance.now() - begun)} ms\n`,
  );
  expect(ends.lost).toBeGreaterThan(0);
  expect(ends.doubled).toBeGreaterThan(0);
});

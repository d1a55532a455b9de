import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, Worker, type WorkflowBundle } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { signalWorkflow, startWorkflow } from '../../src/index.js';
import { signalWorkflowOperation } from '../../src/providers/signal-workflow.js';
import { startWorkflowOperation } from '../../src/providers/start-workflow.js';
import { openOperationsBench } from '../support/operations-bench.js';
import { startTemporalWorker, type RunningWorker } from '../support/running-worker.js';
import { attemptUntilSettled, deathAt } from '../support/settle-attempts.js';
import * as waiting from '../support/waiting-workflows.js';

const workflowsPath = fileURLToPath(new URL('../support/waiting-workflows.ts', import.meta.url));
const interceptorsPath = fileURLToPath(new URL('../support/yielding-interceptors.ts', import.meta.url));
const queue = `waiting-${randomBytes(6).toString('hex')}`;
const shipped: string[] = [];
const canceled: string[] = [];

let client: Client;
let bundle: WorkflowBundle;
let worker: RunningWorker;
let started: WorkflowHandle[] = [];

beforeAll(async () => {
  bundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  worker = await startTemporalWorker({
    taskQueue: queue,
    workflowBundle: bundle,
    stickyQueueScheduleToStartTimeout: '1 second',
    activities: {
      shipOrder: (order: string, eventId: string) => void shipped.push(`${order} ${eventId}`),
      cancelOrder: (order: string) => void canceled.push(order),
    },
  });
  client = worker.client;
});

afterAll(() => worker.stop());

// Whatever happened to a workflow, its history replays.
afterEach(async () => {
  for (const handle of started) {
    const history = await handle.fetchHistory();
    await Worker.runReplayHistory({ workflowBundle: bundle }, history, handle.workflowId);
  }
  started = [];
});

async function begin<Args extends unknown[]>(
  workflow: (...args: Args) => Promise<unknown>,
  ...args: Args
): Promise<WorkflowHandle> {
  const workflowId = `${workflow.name}-${randomBytes(6).toString('hex')}`;
  const handle = await client.workflow.start(workflow.name, { workflowId, taskQueue: queue, args });
  started.push(handle);
  return handle;
}

const send = (handle: WorkflowHandle, key: string, payload: unknown = `for ${key}`): Promise<void> =>
  handle.signal('webhook', { key, payload });

/** Until the workflow has come to its first wait. */
/** A query is answered after all that came before it. */
async function untilWaiting(handle: WorkflowHandle): Promise<void> {
  await handle.query('__temporal_workflow_metadata');
}

async function untilTimerFired(handle: WorkflowHandle): Promise<void> {
  await expect
    .poll(async () => (await handle.fetchHistory()).events?.some((event) => event.timerFiredEventAttributes), {
      timeout: 20_000,
    })
    .toBe(true);
}

describe('awaitWebhook', () => {
  test('gives every wait for a key the same payload, whichever came first; a repetition is dropped', async () => {
    const waitFirst = await begin(waiting.waitThrice, 'payment:o_1');
    await untilWaiting(waitFirst);
    await send(waitFirst, 'payment:o_1', 'first');
    expect(await waitFirst.result()).toEqual(['first', 'first', 'first']);

    const workflowId = `event-first-${randomBytes(6).toString('hex')}`;
    const eventFirst = await client.workflow.signalWithStart('waitThrice', {
      workflowId,
      taskQueue: queue,
      args: ['payment:o_1'],
      signal: 'webhook',
      signalArgs: [{ key: 'payment:o_1', payload: 'first' }],
    });
    started.push(eventFirst);
    expect(await eventFirst.result()).toEqual(['first', 'first', 'first']);
  });

  test('needs no timer for what is there', async () => {
    const handle = await client.workflow.signalWithStart('waitInVain', {
      workflowId: `timerless-${randomBytes(6).toString('hex')}`,
      taskQueue: queue,
      args: ['k', 60_000],
      signal: 'webhook',
      signalArgs: [{ key: 'k' }],
    });
    expect(await handle.result()).toEqual([false, null, null]);
    const { events } = await handle.fetchHistory();
    expect(events?.filter((event) => event.timerStartedEventAttributes)).toEqual([]);
  });

  test('gives up after its time, and a later wait gets what came later', async () => {
    const handle = await begin(waiting.waitInVain, 'payment:o_1', 1);
    await untilWaiting(handle);
    await untilTimerFired(handle);
    await send(handle, 'payment:o_1', 'late');
    expect(await handle.result()).toEqual([true, null, 'late']);
  });

  test('gets what came before its time was over, also where an interceptor lets signals wait a moment', async () => {
    const late = `late-${queue}`;
    const options = {
      taskQueue: late,
      workflowBundle: await bundleWorkflowCode({
        workflowsPath,
        workflowInterceptorModules: [interceptorsPath],
        logger: new DefaultLogger('ERROR'),
      }),
      stickyQueueScheduleToStartTimeout: '1 second',
    } as const;
    const workflowId = `late-${randomBytes(6).toString('hex')}`;
    const first = await startTemporalWorker(options);
    const handle = await client.workflow.start('waitInVain', { workflowId, taskQueue: late, args: ['k', 1_000] });
    await untilWaiting(handle);
    await first.stop();
    // Both come while no worker is there, and the next one gets them in one task.
    await send(handle, 'k', 'in time');
    await untilTimerFired(handle);
    const second = await startTemporalWorker(options);
    try {
      expect(await handle.result()).toEqual([false, 'in time', 'in time']);
    } finally {
      await second.stop();
    }
  });

  test('that is cancelled takes nothing', async () => {
    const handle = await begin(waiting.waitCancelled, 'payment:o_1');
    await untilWaiting(handle);
    await handle.cancel();
    await untilWaiting(handle);
    await send(handle, 'payment:o_1', 'kept');
    expect(await handle.result()).toEqual(['cancelled', 'kept']);
  });
});

describe('the signal handler', () => {
  test('ignores whatever is no webhook, and goes on', async () => {
    const handle = await begin(waiting.takeSome, 2);
    const nonsense = [undefined, null, 'payment:o_1', 5, [], {}, { key: '' }, { key: 5 }, { key: null, payload: 1 }];
    for (const input of nonsense) await handle.signal('webhook', input);
    await handle.signal('webhook');
    await send(handle, 'a');
    await send(handle, 'a', 'again');
    await handle.signal('webhook', { key: 'b', payload: { more: 1 }, stray: true }, 'and one argument more');
    expect(await handle.result()).toEqual({
      taken: [
        { key: 'a', payload: 'for a' },
        { key: 'b', payload: { more: 1 } },
      ],
      malformed: nonsense.length + 1,
    });
  });
});

describe('what a run hands to the next', () => {
  test('is what was answered and what nobody asked for: repetitions are still known', async () => {
    const handle = await begin(waiting.carryOn, { run: 1, got: [] });
    await send(handle, 'unasked');
    await send(handle, 'run:1', 'one');
    await send(handle, 'run:2', 'two');
    // To whichever run: dropped there, or carried.
    await send(handle, 'run:1', 'one again');
    await send(handle, 'unasked', 'again');
    await send(handle, 'last');
    expect(await handle.result()).toEqual([
      'one',
      'two',
      expect.stringContaining('webhook "run:1" was answered in an earlier run'),
      { key: 'unasked', payload: 'for unasked' },
      { key: 'last', payload: 'for last' },
    ]);
  });

  test('is bounded: the oldest that were answered are forgotten, what nobody asked for never', async () => {
    const handle = await begin(waiting.carryFew, ['a', 'b', 'c'], 2);
    for (const key of ['x', 'a', 'y', 'b', 'z', 'c']) await send(handle, key);
    expect(await handle.result()).toEqual({
      untaken: ['x', 'y', 'z'].map((key) => ({ key, payload: `for ${key}` })),
      answered: ['b', 'c'],
    });
  });

  test('has room for many that were answered, however large they were', async () => {
    const handle = await begin(waiting.takeAndGoOn, 30);
    for (let index = 0; index < 30; index += 1) await send(handle, `key:${index}`, 'x'.repeat(100_000));
    expect(await handle.result()).toBe(30);
  });
});

describe('listening in a run that goes on from another', () => {
  test('must not begin without what was handed over: that is an error, and nothing is lost', async () => {
    const handle = await begin(waiting.listenTooLate, 1);
    started = started.filter((other) => other !== handle);
    for (const key of ['early', 'first']) await send(handle, key);
    const failures = async (): Promise<string> => {
      const { events } = await client.workflow.getHandle(handle.workflowId).fetchHistory();
      return JSON.stringify(events?.map((event) => event.workflowTaskFailedEventAttributes?.failure?.message ?? ''));
    };
    await expect.poll(failures, { timeout: 20_000 }).toContain('receiveWebhooks(carried) comes too late');
    await handle.terminate();
  });

  test('may be asked for twice with the same', async () => {
    const handle = await begin(waiting.listenTwice, 1);
    for (const key of ['early', 'first']) await send(handle, key);
    expect(await handle.result()).toBe('for early');
  });
});

describe('the sample in the docs', () => {
  const page = readFileSync(new URL('../../docs/own-workflows.md', import.meta.url), 'utf8');

  test('is this code, and has fifteen lines', () => {
    const [, code = ''] = /```ts\n(import \{ proxyActivities \}[\s\S]*?)```/.exec(page) ?? [];
    const tested = readFileSync(new URL('../support/own-workflow-sample.ts', import.meta.url), 'utf8');
    expect(code).toBe(
      tested.replace('../../workflows/index.js', 'oncehook/workflows').replace('own-activities-sample', 'activities'),
    );
    expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(16);
  });

  test('ships once, whichever comes first, and also when the answer to the signal is lost', async () => {
    const bench = await openOperationsBench();
    try {
      const definitions = [startWorkflowOperation({ client }), signalWorkflowOperation({ client })];
      const begun = { tenant: 't1' };
      for (const first of ['event', 'workflow'] as const) {
        const order = `o_${randomBytes(6).toString('hex')}`;
        const workflowId = `order-${order}`;
        const start = startWorkflow(
          { workflowType: 'fulfilOrder', workflowId, taskQueue: queue, args: [order] },
          begun,
        );
        const paid = signalWorkflow({ workflowId, key: `payment:${order}` }, begun);
        await bench.plan([start, paid], { definitions, event: { scope: 'stripe:a:test', eventId: `evt_${order}` } });
        const perform = bench.performer({ definitions });
        const signal = bench.performer({ definitions, checkpoints: deathAt('operation.answered') });
        if (first === 'event') expect(await perform({ operationKey: paid.key })).toMatchObject({ status: 'planned' });
        await attemptUntilSettled(bench, start.key, () => perform({ operationKey: start.key }));
        const ended = await attemptUntilSettled(bench, paid.key, () => signal({ operationKey: paid.key }));
        expect(ended).toBe('confirmed');
        expect(await client.workflow.getHandle(workflowId).result()).toBe('shipped');
        expect(shipped.filter((line) => line === `${order} evt_${order}`)).toHaveLength(1);
      }
      expect(canceled).toEqual([]);
    } finally {
      await bench.close();
    }
  });
});

import { randomBytes } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { workflowIdForOperation } from '../../src/domain/operation.js';
import type { PerformOperationResult } from '../../src/domain/outcome.js';
import { sha256Hex } from '../../src/sha256.js';
import { createWorkflowStarts, type WorkflowStarts } from '../../src/temporal/workflow-starts.js';
import { startTemporalWorker, type RunningWorker } from '../support/running-worker.js';
import { bundledWorkflows } from '../support/workflow-bundle.js';

const taskQueue = `process-operation-${randomBytes(6).toString('hex')}`;

let client: Client;
let starts: WorkflowStarts;
let worker: RunningWorker;
/** What each attempt does before it answers, and what it answers; in their order. */
let attempts: readonly (() => Promise<PerformOperationResult>)[];
let made: number;

beforeAll(async () => {
  worker = await startTemporalWorker({
    taskQueue,
    workflowBundle: await bundledWorkflows(),
    activities: {
      performOperation: () => {
        const attempt = attempts[made];
        made += 1;
        if (attempt === undefined) throw new Error('one attempt too many');
        return attempt();
      },
    },
  });
  client = worker.client;
  starts = createWorkflowStarts({ client, taskQueue, deadlineMs: 10_000 });
});
afterAll(() => worker.stop());
beforeEach(() => {
  made = 0;
});

const proposed: PerformOperationResult = { kind: 'settled', status: 'proposed' };
const confirmed: PerformOperationResult = { kind: 'settled', status: 'confirmed' };
const answer = (result: PerformOperationResult) => () => Promise.resolve(result);

async function run(key: string): Promise<unknown> {
  const handle: WorkflowHandle = await client.workflow.start('processOperation', {
    taskQueue,
    workflowId: idOf(key),
    args: [{ operationKey: key }],
  });
  return handle.result();
}

const idOf = (key: string): string => workflowIdForOperation(key, sha256Hex);

describe('the run of an operation of its own', () => {
  test('ends with what the attempt found when nobody asks for more', async () => {
    const key = `gift:${randomBytes(6).toString('hex')}`;
    attempts = [answer(proposed)];
    expect(await run(key)).toEqual([{ key, status: 'proposed' }]);
    expect(made).toBe(1);
  });

  test('sees an approval that arrives while the attempt is finding that it is needed', async () => {
    const key = `gift:${randomBytes(6).toString('hex')}`;
    const approve = () => starts.wakeOperation(key, { by: 'ana', reason: 'approved' });
    attempts = [
      async () => {
        await approve();
        return proposed;
      },
      // And again, in the round that the first one began.
      async () => {
        await approve();
        return proposed;
      },
      answer(confirmed),
    ];
    expect(await run(key)).toEqual([{ key, status: 'confirmed' }]);
    expect(made).toBe(3);
  });

  test('looks at once when it is woken between two attempts', async () => {
    const key = `gift:${randomBytes(6).toString('hex')}`;
    // The third: whether the signal meant more than the wait that it ended is for the row to say.
    attempts = [answer({ kind: 'again', status: 'planned', delayMs: 3_600_000 }), answer(confirmed), answer(confirmed)];
    const ended = run(key);
    await expect.poll(() => made, { timeout: 20_000 }).toBe(1);
    const id = idOf(key);
    await expect
      .poll(
        async () =>
          (await client.workflow.getHandle(id).fetchHistory()).events?.some(
            (event) => event.timerStartedEventAttributes,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
    await starts.wakeOperation(key, { by: 'ana', reason: 'now' });
    expect(await ended).toEqual([{ key, status: 'confirmed' }]);
  });
});

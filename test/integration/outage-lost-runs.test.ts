import { WorkflowNotFoundError } from '@temporalio/client';
import { describe, expect, it, vi } from 'vitest';
import { createWorkflowStarts } from '../../src/temporal/workflow-starts.js';
import type { PaymentEvent } from '../support/payment-event.js';
import { stackFor, type Stack } from '../support/stack.js';
import { until } from '../support/until.js';

vi.setConfig({ testTimeout: 180_000 });

// C37: https://github.com/temporalio/sdk-java/issues/2679
describe.concurrent('a further start of an event', () => {
  it('while its run is open starts nothing', async (test) => {
    const stack = await stackFor(test);
    const event = await acknowledged(stack);
    const { runId } = await stack.run(event).describe();
    await startAgain(stack, event);
    expect((await stack.run(event).describe()).runId).toBe(runId);
    await stack.start('worker');
    await isAppliedOnce(stack, ['COMPLETED']);
  });

  it('after its completion finds it done', async (test) => {
    const stack = await stackFor(test);
    const { event, row } = await done(stack);
    await startAgain(stack, event);
    await isAppliedOnce(stack, ['COMPLETED', 'COMPLETED']);
    expect(await rowOf(stack, event)).toEqual(row);
  });

  it('after its run was terminated with the row pending comes by itself, and finishes it', async (test) => {
    const stack = await stackFor(test);
    const event = await acknowledged(stack);
    await stack.run(event).terminate('test');
    expect(await stack.sender.deliver(event)).toMatchObject({ said: 'duplicate' });
    expect(await rowOf(stack, event)).toMatchObject({ status: 'pending' });
    await stack.start('worker');
    await isAppliedOnce(stack, ['COMPLETED', 'TERMINATED']);
  });

  it('after Temporal forgot its finished run finds it done', async (test) => {
    const stack = await stackFor(test);
    const { event, row } = await done(stack);
    await forget(stack, event);
    await startAgain(stack, event);
    await isAppliedOnce(stack, ['COMPLETED']);
    expect(await rowOf(stack, event)).toEqual(row);
  });

  it('after Temporal forgot its run with the row pending comes by itself, and finishes it', async (test) => {
    const stack = await stackFor(test);
    const event = await acknowledged(stack);
    await forget(stack, event);
    expect(await stack.sender.deliver(event)).toMatchObject({ said: 'duplicate' });
    expect(await rowOf(stack, event)).toMatchObject({ status: 'pending' });
    await stack.start('worker');
    await isAppliedOnce(stack, ['COMPLETED']);
  });
});

/** Accepted and started, with nobody to carry it on. */
async function acknowledged(stack: Stack): Promise<PaymentEvent> {
  await stack.start('receiver');
  const event = await stack.payment();
  expect(await stack.sender.deliver(event)).toMatchObject({ said: 'accepted' });
  // A start that a busy machine does not answer in time is left to the sweeper, and here there is none.
  await until('its run is open', async () => {
    if (await isKnown(stack, event)) return true;
    await begin(stack, event);
    return false;
  });
  return event;
}

async function done(stack: Stack): Promise<{ event: PaymentEvent; row: unknown }> {
  await stack.start('worker');
  const event = await acknowledged(stack);
  await stack.untilSound();
  return { event, row: await rowOf(stack, event) };
}

/** As the sender, a receiver or a sweeper would; each of them takes what it finds for success. */
async function startAgain(stack: Stack, event: PaymentEvent): Promise<void> {
  expect(await stack.sender.deliver(event)).toMatchObject({ status: 200, said: 'duplicate' });
  await begin(stack, event);
}

async function begin(stack: Stack, event: PaymentEvent): Promise<void> {
  const { startEvent } = createWorkflowStarts({
    client: stack.temporal,
    taskQueue: stack.taskQueue,
    deadlineMs: 10_000,
  });
  await startEvent({ scope: stack.scope, eventId: event.id, eventType: event.type });
}

async function isAppliedOnce(stack: Stack, statuses: readonly string[]): Promise<void> {
  const listed = async (): Promise<string[]> => (await stack.evidence()).runs.map(({ status }) => status).sort();
  await until(`its runs are ${statuses.join(', ')}`, async () => String(await listed()) === String(statuses), 60_000);
  const { transitions, mails } = await stack.untilSound();
  expect([transitions.length, mails.length]).toEqual([1, 1]);
}

/** As the end of a namespace's retention does. */
async function forget(stack: Stack, event: PaymentEvent): Promise<void> {
  const { workflowId, runId } = await stack.run(event).describe();
  await stack.temporal.workflowService.deleteWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId, runId },
  });
  // The server deletes a run when it has finished with it in every other way.
  await until('the run is forgotten', async () => !(await isKnown(stack, event)), 60_000);
  await until('the run is listed no more', async () => (await stack.evidence()).runs.length === 0);
}

async function isKnown(stack: Stack, event: PaymentEvent): Promise<boolean> {
  try {
    await stack.run(event).describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

async function rowOf({ database }: Stack, { id }: PaymentEvent): Promise<unknown> {
  const [row] = await database.rows('select * from oncehook.webhook_inbox where event_id = $1', [id]);
  return row;
}

import { describe, expect, it, vi } from 'vitest';
import { inLanes } from '../support/in-lanes.js';
import type { PaymentEvent } from '../support/payment-event.js';
import type { ServiceProcess } from '../support/service-process.js';
import { stackFor, type Stack } from '../support/stack.js';
import { until } from '../support/until.js';

vi.setConfig({ testTimeout: 240_000 });

describe('workers', () => {
  it('one killed in the middle of 100 events: another goes on', async (test) => {
    const stack = await stackFor(test);
    await stack.start('receiver');
    const [doomed] = await Promise.all([stack.start('worker'), stack.start('worker')]);
    const sending = inLanes(10, await payments(stack, 100), (event) => stack.sender.deliverUntilAccepted(event));
    await until('20 events are done', async () => (await countDone(stack)) >= 20, 30_000);
    await doomed.kill();
    expect(await countDone(stack)).toBeLessThan(100);
    await sending;
    const { runs } = await stack.untilSound();
    expect(runs).toHaveLength(100);
    expect(await countOfLostAttempts(stack)).toBeGreaterThan(0);
  });

  it('one stopped in the middle of 100 events finishes what it has begun and ends with 0', async (test) => {
    const stack = await stackFor(test);
    await stack.start('receiver');
    const [leaving] = await Promise.all([
      stack.start('worker', { env: { LOG_LEVEL: 'debug' } }),
      stack.start('worker'),
    ]);
    const sending = inLanes(10, await payments(stack, 100), (event) => stack.sender.deliverUntilAccepted(event));
    await until('20 events are done', async () => (await countDone(stack)) >= 20, 30_000);
    const asked = performance.now();
    leaving.signal('SIGTERM');
    expect(await leaving.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - asked).toBeLessThan(15_000);
    await sending;
    const { mails } = await stack.untilSound();
    expect(mails).toHaveLength(100);
    // Temporal's histories cannot tell: this server also hands tasks to polls that the worker is giving up, which
    // nobody begins (github.com/temporalio/sdk-rust/pull/1122).
    const begun = attemptsSaid(leaving, 'Activity started');
    expect(begun.length).toBeGreaterThan(0);
    expect(attemptsSaid(leaving, 'Activity completed')).toEqual(begun);
  });
});

describe('receivers', () => {
  it('twenty identical deliveries at once to two of them are one event', async (test) => {
    const stack = await stackFor(test);
    await Promise.all([stack.start('receiver'), stack.start('receiver'), stack.start('worker')]);
    const event = await stack.payment();
    const answers = await Promise.all(Array.from({ length: 20 }, () => stack.sender.deliver(event)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(answers.filter(({ said }) => said === 'accepted')).toHaveLength(1);
    expect(answers.filter(({ said }) => said === 'duplicate')).toHaveLength(19);
    const { inbox, transitions, mails } = await stack.untilSound();
    expect([inbox.length, transitions.length, mails.length]).toEqual([1, 1, 1]);
    await until('the run is listed', async () => (await stack.evidence()).runs.length > 0);
    expect((await stack.evidence()).runs).toHaveLength(1);
  });

  it('one stopped under load answers what is in flight, ends with 0 in time, and loses nothing', async (test) => {
    const stack = await stackFor(test);
    const leaving = await stack.start('receiver');
    const events = await payments(stack, 200);
    let isGone = false;
    const sending = inLanes(8, events, async (event) => {
      if (!isGone) await stack.sender.deliver(event, leaving.port);
    });
    await until('some are acknowledged', () => stack.sender.deliveries.length >= 20);
    const asked = performance.now();
    leaving.signal('SIGTERM');
    expect(await leaving.exited).toEqual({ code: 0, signal: null });
    isGone = true;
    expect(performance.now() - asked).toBeLessThan(12_000);
    await sending;
    const { deliveries } = stack.sender;
    expect(deliveries.filter(({ status }) => status !== 200).length).toBeGreaterThan(0);

    await Promise.all([stack.start('receiver'), stack.start('worker')]);
    const isAcknowledged = (event: PaymentEvent): boolean =>
      deliveries.some(({ eventId, status }) => eventId === event.id && status === 200);
    const again = events.filter((event) => !isAcknowledged(event));
    await inLanes(8, again, (event) => stack.sender.deliverUntilAccepted(event));
    const { inbox } = await stack.untilSound();
    expect(inbox).toHaveLength(events.length);
  });
});

// C10c: https://github.com/payloadcms/payload/pull/10890
describe('all processes killed at the moment in which the sender has read 200', () => {
  it.for([1, 20])('of %i deliveries at once: what was acknowledged is done after a restart', async (count, test) => {
    const stack = await stackFor(test);
    for (let round = 0; round < 2; round += 1) {
      const running = await Promise.all([stack.start('receiver'), stack.start('worker')]);
      const events = await payments(stack, count);
      const killAll = (): void => {
        for (const service of running) service.signal('SIGKILL');
      };
      const answers = await Promise.all(
        events.map(async (event) => {
          const answer = await stack.sender.deliver(event);
          if (answer.status === 200) killAll();
          return answer;
        }),
      );
      for (const { exited } of running) expect(await exited).toMatchObject({ signal: 'SIGKILL' });
      const acknowledged = answers.filter(({ status }) => status === 200).map(({ eventId }) => eventId);
      const stored = (await stack.evidence()).inbox.map(({ eventId }) => eventId);
      expect(stored).toEqual(expect.arrayContaining(acknowledged));

      const fresh = await Promise.all([stack.start('receiver'), stack.start('worker')]);
      const lost = events.filter(({ id }) => !acknowledged.includes(id));
      await Promise.all(lost.map((event) => stack.sender.deliverUntilAccepted(event)));
      await stack.untilSound();
      await Promise.all(fresh.map((service) => service.stop()));
    }
  });
});

function payments(stack: Stack, count: number): Promise<PaymentEvent[]> {
  return Promise.all(Array.from({ length: count }, () => stack.payment()));
}

async function countDone({ database }: Stack): Promise<number> {
  const [row] = await database.rows<{ count: number }>(
    `select count(*)::integer as count from oncehook.webhook_inbox where status = 'done'`,
  );
  return row!.count;
}

/** The attempts of which a worker wrote this to its log, in a fixed order. */
function attemptsSaid({ lines }: ServiceProcess, message: string): string[] {
  return lines
    .filter(({ msg }) => msg === message)
    .map(({ temporal }) => {
      const { workflowId, activityId, attempt } = temporal as Readonly<Record<string, unknown>>;
      return JSON.stringify([workflowId, activityId, attempt]);
    })
    .toSorted();
}

/** How many attempts of activities were lost with whoever had them, by Temporal's own histories. */
async function countOfLostAttempts(stack: Stack): Promise<number> {
  const { runs } = await stack.evidence();
  const counts = await inLanes(10, runs, async ({ workflowId, runId }) => {
    const { events } = await stack.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    const attempts = (events ?? []).map(({ activityTaskStartedEventAttributes: started }) => started?.attempt ?? 1);
    return attempts.reduce((sum, attempt) => sum + attempt - 1, 0);
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

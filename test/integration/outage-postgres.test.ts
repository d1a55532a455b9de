import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openOwnPostgres, type OwnPostgres } from '../support/own-servers.js';
import { inLanes } from '../support/in-lanes.js';
import type { PaymentEvent } from '../support/payment-event.js';
import { openStack, type Stack } from '../support/stack.js';
import type { ServiceProcess } from '../support/service-process.js';
import type { Delivery } from '../support/stripe-sender.js';
import { until } from '../support/until.js';

vi.setConfig({ testTimeout: 240_000 });

let server: OwnPostgres;
let stack: Stack;
let receiver: ServiceProcess;
let worker: ServiceProcess;

beforeAll(async () => {
  server = await openOwnPostgres();
  stack = await openStack({ database: server.database });
  receiver = await stack.start('receiver');
  worker = await stack.start('worker');
});

beforeEach(async () => {
  expect(await stack.sender.deliverUntilAccepted(await stack.payment())).toMatchObject({ status: 200 });
});

/** The same processes, which have survived, go on; everything that was sent in the end has had its one effect. */
afterEach(async () => {
  expect(isRunning(receiver) && isRunning(worker)).toBe(true);
  expect(await stack.sender.deliverUntilAccepted(await stack.payment())).toMatchObject({ status: 200 });
  await stack.untilSound();
});

afterAll(async () => {
  await stack.close();
  await server.remove();
});

describe('PostgreSQL', () => {
  it('stopped: 503 with Retry-After within 2 s, and nothing of it is lost afterwards', async () => {
    const events = await payments(20);
    await keepWorkerBusy();
    await server.stop();
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(events.map((event) => stack.sender.deliver(event)));
      answers.forEach((answer) => {
        expectUnavailable(answer, 2_000);
      });
    }
    await server.start();
    await Promise.all(events.map((event) => stack.sender.deliverUntilAccepted(event)));
  });

  it('dead to the touch: 503 within 5 s, and nothing of it is lost afterwards', async () => {
    const events = await payments(20);
    await keepWorkerBusy();
    server.pause();
    try {
      for (let round = 0; round < 2; round += 1) {
        const answers = await Promise.all(events.map((event) => stack.sender.deliver(event)));
        answers.forEach((answer) => {
          expectUnavailable(answer, 5_000);
        });
      }
    } finally {
      server.resume();
    }
    await Promise.all(events.map((event) => stack.sender.deliverUntilAccepted(event)));
  });

  it('locked: 503 within 5 s, and nothing of it is lost afterwards', async () => {
    const events = await payments(20);
    const holder = new Client({ connectionString: server.database.url });
    await holder.connect();
    await holder.query('begin; lock table oncehook.webhook_inbox in access exclusive mode');
    const answers = await Promise.all(events.map((event) => stack.sender.deliver(event)));
    await holder.end();
    answers.forEach((answer) => {
      expectUnavailable(answer, 5_000);
    });
    await Promise.all(events.map((event) => stack.sender.deliverUntilAccepted(event)));
  });

  it('killed with all its children under load, three times: what was answered with 200 is there', async () => {
    for (let round = 0; round < 3; round += 1) {
      const begun = stack.sender.deliveries.length;
      const answers = (): readonly Delivery[] => stack.sender.deliveries.slice(begun);
      const sending = inLanes(4, await payments(150), (event) => stack.sender.deliverUntilAccepted(event));
      await until('some are acknowledged', () => answers().filter(({ status }) => status === 200).length >= 10);
      await server.kill();
      await server.start();
      await sending;
      expect(answers().some(({ status }) => status === 503)).toBe(true);
    }
  });
});

/** The fault must meet work that is under way. */
async function keepWorkerBusy(): Promise<void> {
  const events = await payments(20);
  await Promise.all(events.map((event) => stack.sender.deliverUntilAccepted(event)));
}

function payments(count: number): Promise<PaymentEvent[]> {
  return Promise.all(Array.from({ length: count }, () => stack.payment()));
}

function expectUnavailable({ status, said, retryAfter, ms }: Delivery, withinMs: number): void {
  expect({ status, said, retryAfter }).toEqual({ status: 503, said: 'unavailable', retryAfter: '5' });
  expect(ms).toBeLessThan(withinMs);
}

function isRunning({ pid }: ServiceProcess): boolean {
  return process.kill(pid, 0);
}

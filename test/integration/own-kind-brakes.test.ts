import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { actOnOperation, pauseOperations, resumeOperations } from '../../src/admin/act-on-operations.js';
import {
  applied,
  createWebhookReceiver,
  createWebhookWorker,
  defineHandlers,
  defineOperation,
  operationKey,
  type AnyOperationDefinition,
  type WebhookOptions,
  type WebhookReceiver,
  type WebhookWorker,
} from '../../src/index.js';
import { createWorkflowStarts, type WorkflowStarts } from '../../src/temporal/workflow-starts.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { token } from '../support/payment-event.js';
import { stripeEvent } from '../support/stripe-event.js';
import { stripeSignature, unixNow } from '../support/stripe-signing.js';
import { until } from '../support/until.js';

const SECRET = 'whsec_of_the_shop_0123456789';
const ANA = { by: 'ana', reason: 'INC-42' };

/** Keys of what was made, in order. */
const made: string[] = [];

function kindOf(kind: string): AnyOperationDefinition {
  return defineOperation({
    kind,
    params: z.object({ amountMinor: z.int() }),
    amountMinor: ({ amountMinor }) => amountMinor,
    perform: ({ operationKey: key }) => {
      made.push(key);
      return Promise.resolve({ kind: 'confirmed' });
    },
    classify: () => ({ kind: 'unknown', code: 'threw' }),
    onUnknown: 'hold',
  });
}

const wish = z.object({ data: z.object({ object: z.object({ kind: z.string(), amountMinor: z.int() }) }) });

/** Each event asks for one effect, by its kind. */
const shop = defineHandlers({
  'shop.wish': (event) => {
    const { kind, amountMinor } = wish.parse(event.payload).data.object;
    return applied({ operations: [{ kind, key: operationKey(kind, event.eventId), params: { amountMinor } }] });
  },
});

const KINDS = ['payout', 'voucher', 'letter', 'fax', 'contract'];

let database: TestDatabase;
let receiver: WebhookReceiver;
let worker: WebhookWorker;
let running: Promise<void>;
let connection: Connection;
let starts: WorkflowStarts;

beforeAll(async () => {
  database = await openDatabase();
  connection = await Connection.connect({ address: inject('temporalAddress') });
  const taskQueue = `brakes-${token()}`;
  starts = createWorkflowStarts({ client: new Client({ connection }), taskQueue, deadlineMs: 5_000 });
  const options: WebhookOptions = {
    config: {
      version: 1,
      sources: {
        north: { kind: 'stripe', secrets: [SECRET], account: 'acct_north', tenant: 'north', handlers: 'shop' },
        south: { kind: 'stripe', secrets: [SECRET], account: 'acct_south', tenant: 'south', handlers: 'shop' },
      },
      effects: {
        payout: { maxAmountMinor: 100 },
        voucher: { perHour: 2 },
        fax: { mode: 'off' },
        contract: { mode: 'propose', maxAmountMinor: 100, perHour: 1 },
      },
    },
    databaseUrl: database.url,
    handlerSets: { shop },
    operations: KINDS.map(kindOf),
    taskQueue,
    env: { TEMPORAL_ADDRESS: inject('temporalAddress'), LOG_LEVEL: 'silent' },
  };
  receiver = createWebhookReceiver(options);
  worker = createWebhookWorker(options);
  running = worker.run();
});
afterAll(async () => {
  await Promise.all([receiver.stop(), worker.stop()]);
  await running;
  await connection.close();
  await database.drop();
});

/** Delivers a wish and waits for its event's end. @returns the key that its effect has, if it got one. */
async function ask(kind: string, amountMinor = 1, tenant: 'north' | 'south' = 'north'): Promise<string> {
  const { id, body } = stripeEvent({ type: 'shop.wish', data: { object: { kind, amountMinor } } });
  const headers = { 'stripe-signature': stripeSignature(body, SECRET, unixNow()) };
  const request = new Request(`http://shop.example/webhooks/${tenant}`, { method: 'POST', body, headers });
  expect((await receiver.fetch(request)).status).toBe(200);
  await until(`the event of a ${kind} is done`, async () => {
    const [event] = await database.rows('select status from oncehook.webhook_inbox where event_id = $1', [id]);
    return event?.status === 'done';
  });
  return operationKey(kind, id);
}

interface Standing {
  readonly status: string;
  readonly code: string | null;
}

async function standing(key: string): Promise<Standing | undefined> {
  const [row] = await database.rows<Standing & Record<string, unknown>>(
    'select status, last_error as code from oncehook.operations where operation_key = $1',
    [key],
  );
  return row;
}

/** What a busy machine lets slip is claimed again by the sweeper after a minute. */
const PATIENCE_MS = 90_000;
vi.setConfig({ testTimeout: 2 * PATIENCE_MS });

async function comesTo(key: string, status: string, code: string | null = null): Promise<void> {
  await until(`${key} is ${status}`, async () => (await standing(key))?.status === status, PATIENCE_MS);
  expect(await standing(key)).toEqual({ status, code });
}

async function approve(key: string): Promise<void> {
  expect(await actOnOperation(database.pool, key, { action: 'approve' }, ANA)).toBe('planned');
}

describe('the brakes of a kind of your own, in the worker of an application', () => {
  test('a cap per operation: what is above it waits for a person, and is made once that person approves', async () => {
    const [small, large] = [await ask('payout', 100), await ask('payout', 101)];
    await comesTo(small, 'confirmed');
    await comesTo(large, 'proposed', 'amount_cap');
    expect(made).not.toContain(large);
    await approve(large);
    await comesTo(large, 'confirmed');
    expect(made.filter((key) => key === large)).toHaveLength(1);
  });

  test('a cap per hour is one for the kind: tenants share it, other kinds do not', async () => {
    const [first, second] = [await ask('voucher', 1, 'north'), await ask('voucher', 1, 'south')];
    await comesTo(first, 'confirmed');
    await comesTo(second, 'confirmed');
    for (const tenant of ['north', 'south'] as const) {
      await comesTo(await ask('voucher', 1, tenant), 'proposed', 'hourly_cap');
    }
    await comesTo(await ask('payout'), 'confirmed');
  });

  test("a pause of one tenant holds back that tenant's, and another's go on", async () => {
    const target = { kind: 'letter', tenant: 'north', scope: '*' };
    await pauseOperations(database.pool, target, ANA);
    const held = await ask('letter', 1, 'north');
    for (const key of [await ask('letter', 1, 'south'), await ask('payout', 1, 'north')]) {
      await comesTo(key, 'confirmed');
    }
    expect(await standing(held)).toEqual({ status: 'planned', code: null });
    expect(made).not.toContain(held);
    expect(await resumeOperations(database.pool, target, ANA)).toEqual([held]);
    // As the command does: its run looks by itself every five minutes only.
    await starts.wakeOperation(held, ANA);
    await comesTo(held, 'confirmed');
  });

  test('off: nothing of it is planned, and what an application planned before is refused', async () => {
    const key = await ask('fax');
    expect(await standing(key)).toBeUndefined();
    await database.rows(`select oncehook.plan_operation('fax:old', 'fax', 'north', '{"amountMinor": 1}')`);
    await comesTo('fax:old', 'refused', 'switched_off');
    expect(made.filter((one) => one.startsWith('fax'))).toEqual([]);
  });

  test('propose: each waits for approval, which also lifts it over the caps', async () => {
    const keys = [await ask('contract', 1_000), await ask('contract', 1_000)];
    for (const key of keys) await comesTo(key, 'proposed', 'needs_approval');
    expect(made.filter((one) => one.startsWith('contract'))).toEqual([]);
    for (const key of keys) await approve(key);
    for (const key of keys) await comesTo(key, 'confirmed');
  });
});

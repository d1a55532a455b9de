import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import express from 'express';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import {
  applied,
  createWebhookActivities,
  createWebhookReceiver,
  createWebhookWorker,
  defineHandlers,
  defineOperation,
  duplicate,
  operationKey,
  wait,
  type AnyOperationDefinition,
  type ConfigDocument,
  type HandlerSet,
  type WebhookOptions,
  type WebhookReceiver,
} from '../../src/index.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { deliver, send } from '../support/http-client.js';
import { token } from '../support/payment-event.js';
import { stripeEvent } from '../support/stripe-event.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

const SECRET = 'whsec_of_the_shop_0123456789';

/** An application's own table and handlers for it. */
const shop: HandlerSet = defineHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { rows } = await tx.query<{ status: string }>('select status from sales where id = $1 for update', [
      event.eventId,
    ]);
    if (rows[0] === undefined) return wait('unknown_sale');
    if (rows[0].status === 'paid') return duplicate();
    await tx.query(`update sales set status = 'paid', paid_by = $2 where id = $1`, [event.eventId, event.tenant]);
    return applied();
  },
});

interface Shop {
  readonly name: string;
  readonly database: TestDatabase;
  readonly options: WebhookOptions;
}

async function openShop(name: string): Promise<Shop> {
  const database = await openDatabase();
  await database.pool.query(
    `create table sales (id text primary key, status text not null default 'open', paid_by text)`,
  );
  const config: ConfigDocument = {
    version: 1,
    sources: { stripe: { kind: 'stripe', secrets: [SECRET], tenant: name, handlers: 'shop' } },
  };
  return {
    name,
    database,
    options: {
      config,
      databaseUrl: database.url,
      handlerSets: { shop },
      taskQueue: `embedded-${token()}`,
      env: { TEMPORAL_ADDRESS: inject('temporalAddress'), LOG_LEVEL: 'silent', PORT: 'not a port of ours' },
    },
  };
}

const served: Server[] = [];

/** An application with a route and a body parser of its own. */
async function serve(receiver: WebhookReceiver): Promise<number> {
  const app = express();
  app.use('/hooks', receiver.router);
  app.use(express.json());
  app.post('/echo', (req, res) => void res.json(req.body));
  const server = createServer(app);
  served.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Delivers an event that pays a sale, and waits until the sale is paid. */
async function sell({ database, name }: Shop, port: number): Promise<string> {
  const event = stripeEvent();
  await database.pool.query('insert into sales (id) values ($1)', [event.id]);
  const answer = await deliver(port, SECRET, event.body, { path: '/hooks/webhooks/stripe' });
  expect(answer).toMatchObject({ status: 200, body: '{"status":"accepted"}' });
  await until(`the sale ${event.id} is paid`, async () => {
    const [sale] = await database.rows('select status, paid_by from sales where id = $1', [event.id]);
    return sale?.status === 'paid' && sale.paid_by === name;
  });
  return event.id;
}

let one: Shop;
let other: Shop;

beforeAll(async () => {
  [one, other] = [await openShop('one'), await openShop('other')];
});

afterAll(async () => {
  for (const server of served) server.close();
  await one.database.drop();
  await other.database.drop();
});

describe('receiver and worker in an application', () => {
  test('two of them live in one process and know nothing of each other', async () => {
    const shops = [one, other].map((each) => ({
      ...each,
      receiver: createWebhookReceiver(each.options),
      worker: createWebhookWorker(each.options),
    }));
    const running = shops.map(({ worker }) => worker.run());
    try {
      for (const each of shops) await sell(each, await serve(each.receiver));
      expect(await one.database.rows('select * from oncehook.webhook_inbox')).toHaveLength(1);
      expect(await other.database.rows('select * from oncehook.webhook_inbox')).toHaveLength(1);
      for (const { receiver } of shops) {
        expect(await receiver.readiness()).toMatchObject({ status: 'ready', postgres: 'ok', schema: 'ok' });
        expect(await receiver.metrics.metrics()).toMatch(/answer="accepted"\} 1\b/);
      }
    } finally {
      await Promise.all(shops.flatMap(({ receiver, worker }) => [receiver.stop(), worker.stop(), worker.stop()]));
    }
    await Promise.all(running);
    const port = served[0]!.address() as AddressInfo;
    const late = await deliver(port.port, SECRET, stripeEvent().body, { path: '/hooks/webhooks/stripe' });
    expect(late.status).toBe(503);
    const own = { path: '/echo', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } };
    expect(await send(port.port, own)).toMatchObject({ status: 200, body: '{"a":1}' });
  });

  test("an application's interceptors run inside the workflows", async () => {
    const workflowModules = [fileURLToPath(new URL('../support/memo-interceptor.ts', import.meta.url))];
    const options = { ...one.options, taskQueue: `embedded-${token()}` };
    const worker = createWebhookWorker({ ...options, workerOptions: { interceptors: { workflowModules } } });
    const receiver = createWebhookReceiver(options);
    const running = worker.run();
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    try {
      const eventId = await sell(one, await serve(receiver));
      const handle = new Client({ connection }).workflow.getHandle(`webhook:stripe:default:test:${eventId}`);
      expect((await handle.describe()).memo).toEqual({ traced: true });
    } finally {
      await Promise.all([receiver.stop(), worker.stop(), connection.close()]);
    }
    await running;
  });

  test('what a worker of ours decides itself is refused', () => {
    // As without types.
    const workerOptions = { tuner: {}, maxConcurrentActivityTaskExecutions: 500 } as object;
    expect(() => createWebhookWorker({ ...one.options, workerOptions })).toThrow(
      /workerOptions.tuner: is oncehook's own[^]*workerOptions.maxConcurrentActivityTaskExecutions: is oncehook's own/,
    );
  });

  test('a secret in a file is read again when it changes', async () => {
    const folder = openTempDir();
    const file = join(folder, 'secret');
    writeFileSync(file, SECRET);
    const receiver = createWebhookReceiver({
      ...one.options,
      config: { version: 1, sources: { stripe: { kind: 'stripe', secrets: [`\${file:${file}}`], handlers: 'shop' } } },
    });
    try {
      const port = await serve(receiver);
      const send = async (secret: string): Promise<number> =>
        (await deliver(port, secret, stripeEvent().body, { path: '/hooks/webhooks/stripe' })).status;
      const next = 'whsec_the_next_one_0123456789';
      expect([await send(SECRET), await send(next)]).toEqual([200, 401]);
      writeFileSync(file, next);
      await until('the new secret is in force', async () => (await send(next)) === 200, 20_000);
      expect(await send(SECRET)).toBe(401);
    } finally {
      await receiver.stop();
      removeDir(folder);
    }
  });

  test("its workflows and activities run in an application's own Temporal worker, beside that one's", async () => {
    const address = inject('temporalAddress');
    const [connection, native] = [await Connection.connect({ address }), await NativeConnection.connect({ address })];
    const client = new Client({ connection });
    const options = { ...one.options, client };
    const webhooks = createWebhookActivities(options);
    const worker = await Worker.create({
      connection: native,
      taskQueue: options.taskQueue!,
      workflowsPath: fileURLToPath(new URL('../support/application-workflows.ts', import.meta.url)),
      activities: { greet: (name: string) => Promise.resolve(`hello ${name}`), ...webhooks.activities },
    });
    const receiver = createWebhookReceiver(options);
    await webhooks.start();
    try {
      await worker.runUntil(async () => {
        await sell(one, await serve(receiver));
        const greeting: unknown = await client.workflow.execute('greetSomebody', {
          taskQueue: options.taskQueue!,
          workflowId: `greet-${token()}`,
          args: ['ana'],
        });
        expect(greeting).toBe('hello ana');
      });
    } finally {
      await Promise.all([receiver.stop(), webhooks.stop()]);
    }
    // What the application brought is the application's to close.
    await expect(client.workflow.count()).resolves.toBeDefined();
    await connection.close();
    await native.close();
  });

  test('kinds of effects of its own are made once, and held back by the brakes of its configuration', async () => {
    const [made, held]: [string[], string[]] = [[], []];
    const kindOf = (kind: string, calls: string[]): AnyOperationDefinition =>
      defineOperation({
        kind,
        params: z.object({ sale: z.string() }),
        perform: ({ params }) => {
          calls.push(params.sale);
          return Promise.resolve({ kind: 'confirmed' });
        },
        classify: () => ({ kind: 'unknown', code: 'threw' }),
        onUnknown: 'hold',
      });
    const packing = defineHandlers({
      'payment_intent.succeeded': (event) =>
        applied({
          operations: ['pack_parcel', 'order_courier'].map((kind) => ({
            kind,
            key: operationKey(kind, event.eventId),
            params: { sale: event.eventId },
          })),
        }),
    });
    const options: WebhookOptions = {
      ...other.options,
      config: {
        version: 1,
        sources: { stripe: { kind: 'stripe', secrets: [SECRET], handlers: 'packing' } },
        effects: { order_courier: { mode: 'propose' } },
      },
      handlerSets: { packing },
      operations: [kindOf('pack_parcel', made), kindOf('order_courier', held)],
    };
    const [receiver, worker] = [createWebhookReceiver(options), createWebhookWorker(options)];
    const running = worker.run();
    try {
      const event = stripeEvent();
      const port = await serve(receiver);
      await deliver(port, SECRET, event.body, { path: '/hooks/webhooks/stripe' });
      const standing = (): Promise<unknown> =>
        other.database.rows('select kind, status from oncehook.operations where event_id = $1 order by kind', [
          event.id,
        ]);
      await until('both stand where they should', async () => JSON.stringify(await standing()).includes('confirmed'));
      expect(await standing()).toEqual([
        { kind: 'order_courier', status: 'proposed' },
        { kind: 'pack_parcel', status: 'confirmed' },
      ]);
      expect([made, held]).toEqual([[event.id], []]);
    } finally {
      await Promise.all([receiver.stop(), worker.stop()]);
    }
    await running;
  });

  test('it can be built while nothing is there: senders hear 503, readiness says why', async () => {
    const receiver = createWebhookReceiver({
      ...one.options,
      databaseUrl: 'postgres://nobody:nothing@127.0.0.1:1/nowhere',
      env: { TEMPORAL_ADDRESS: '127.0.0.1:1', LOG_LEVEL: 'silent' },
    });
    const port = await serve(receiver);
    expect((await deliver(port, SECRET, stripeEvent().body, { path: '/hooks/webhooks/stripe' })).status).toBe(503);
    expect(await receiver.readiness()).toMatchObject({ status: 'not_ready', postgres: 'down' });
    await receiver.stop();
  });

  test('a worker that is stopped before anything answers ends in order', async () => {
    const worker = createWebhookWorker({
      ...one.options,
      databaseUrl: 'postgres://nobody:nothing@127.0.0.1:1/nowhere',
    });
    const running = worker.run();
    await worker.stop();
    await running;
  });
});

describe('what an application configures in code', () => {
  const problems = (options: WebhookOptions, build: (given: WebhookOptions) => unknown): readonly string[] => {
    try {
      build(options);
    } catch (error) {
      return (error as { readonly problems: readonly string[] }).problems;
    }
    throw new Error('it was accepted');
  };

  test('is checked as a whole, in its own words', () => {
    const config = { version: 1, sources: { stripe: { kind: 'stripe', secrets: ['whsec_'], handlers: 'shop' } } };
    expect(problems({ config: config as never, env: {} }, createWebhookWorker)).toEqual([
      'sources.stripe.handlers: there is no handler set of this name; known: orders, ledger, calendar, none',
      'sources.stripe.secrets[0]: the value is a prefix without a secret',
      'DATABASE_URL: is not set; it must look like postgres://user:password@host:5432/database',
    ]);
  });

  test('may not take the name of a built-in set', () => {
    expect(problems({ ...one.options, handlerSets: { orders: shop } }, createWebhookWorker)).toEqual([
      'handlerSets.orders: is the name of a built-in set; take another',
    ]);
  });

  test("leaves the process's own variables alone", () => {
    // PORT is the application's, and was no number above.
    expect(() => createWebhookReceiver(one.options)).not.toThrow();
  });
});

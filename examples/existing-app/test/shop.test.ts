import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createWebhookReceiver, createWebhookWorker, type WebhookReceiver, type WebhookWorker } from 'oncehook';
import { stripeDelivery, stripeEvent } from 'oncehook/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shopActivities } from '../src/activities.js';
import { createApp, SHOP_QUEUE } from '../src/app.js';
import { openDatabase, openTemporal, temporalAddress } from '../src/connections.js';
import { shopSchema } from '../src/shop-schema.js';
import { webhooks } from '../src/webhooks.js';

/** The whole shop in this process, on the database of DATABASE_URL (migrated) and the Temporal of TEMPORAL_ADDRESS. */
const SECRET = 'whsec_of_the_existing_app';
const options = { ...webhooks, env: { ...process.env, STRIPE_WEBHOOK_SECRET: SECRET, LOG_LEVEL: 'silent' } };

const db = openDatabase();
let temporal: Client;
let connection: NativeConnection;
let shopWorker: Worker;
let receiver: WebhookReceiver;
let webhookWorker: WebhookWorker;
let server: Server;
let running: Promise<unknown>;
let base: string;

beforeAll(async () => {
  await db.$client.query(shopSchema());
  temporal = await openTemporal();
  connection = await NativeConnection.connect({ address: temporalAddress() });
  shopWorker = await Worker.create({
    connection,
    taskQueue: SHOP_QUEUE,
    workflowsPath: fileURLToPath(new URL('../dist/src/workflows.js', import.meta.url)),
    activities: shopActivities(db),
  });
  receiver = createWebhookReceiver({ ...options, client: temporal });
  webhookWorker = createWebhookWorker({ ...options, connection });
  running = Promise.all([shopWorker.run(), webhookWorker.run()]);
  server = createApp(db, temporal, receiver).listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.close();
  shopWorker.shutdown();
  await Promise.all([receiver.stop(), webhookWorker.stop()]);
  await running;
  await Promise.all([db.$client.end(), temporal.connection.close(), connection.close()]);
});

const placeOrder = async (id: string): Promise<void> => {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ id, totalMinor: 4200, currency: 'usd' });
  expect((await fetch(`${base}/orders`, { method: 'POST', headers, body })).status).toBe(201);
};

const pay = async (order: string): Promise<Response> => {
  const event = stripeEvent('payment_intent.succeeded', {
    id: `pi_${order}`,
    amount_received: 4200,
    currency: 'usd',
    metadata: { order_id: order },
  });
  const { headers, body } = stripeDelivery(event, { secret: SECRET });
  return fetch(`${base}/webhooks/stripe`, { method: 'POST', headers, body: new Uint8Array(body) });
};

const fulfilled = (order: string): Promise<unknown> => temporal.workflow.getHandle(`order:${order}`).result();

test('an order that is paid is shipped, by its own workflow', async () => {
  const order = `o_${Date.now()}_a`;
  await placeOrder(order);
  const answers = await Promise.all([pay(order), pay(order), pay(order)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await fulfilled(order)).toBe('shipped');
  expect(await (await fetch(`${base}/orders/${order}`)).json()).toMatchObject({ status: 'shipped' });
});

test('a payment that comes before the order waits for it', async () => {
  const order = `o_${Date.now()}_b`;
  expect((await pay(order)).status).toBe(200);
  await placeOrder(order);
  expect(await fulfilled(order)).toBe('shipped');
});

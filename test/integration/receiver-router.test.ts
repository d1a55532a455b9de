import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { deliver, send } from '../support/http-client.js';
import { SECRET, startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import { stripeEvent } from '../support/stripe-event.js';

let database: TestDatabase;
let receiver: RunningReceiver;
let server: Server;

beforeEach(async () => {
  database = await openDatabase();
  receiver = await startReceiver(database.url);
});

afterEach(async () => {
  server.close();
  await receiver.stop();
  await database.drop();
});

async function serve(app: Express): Promise<number> {
  server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

test("the router works in another application, under a prefix, and leaves that one's routes alone", async () => {
  const app = express();
  app.use('/hooks', receiver.receiver.router);
  app.use(express.json());
  app.post('/orders', (req, res) => void res.json(req.body));
  const port = await serve(app);

  const path = '/hooks/webhooks/stripe';
  expect((await deliver(port, SECRET, stripeEvent().body, { path })).body).toBe('{"status":"accepted"}');
  expect((await send(port, { path, body: 'x' })).status).toBe(401);
  const order = await send(port, { path: '/orders', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } });
  expect(order).toMatchObject({ status: 200, body: '{"a":1}' });
  expect(order.headers['x-request-id']).toBeUndefined();
});

test('behind a body parser the signed bytes are gone: the operator is told, and the sender comes again', async () => {
  const app = express();
  app.use(express.json());
  app.use(receiver.receiver.router);
  const port = await serve(app);

  const headers = { 'Content-Type': 'application/json' };
  const answer = await deliver(port, SECRET, stripeEvent().body, { headers });
  expect(answer.status).toBe(503);
  expect(receiver.lines).toContainEqual(expect.objectContaining({ cause: 'body_already_read', level: 'warn' }));
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { deliver, send } from '../support/http-client.js';
import { SECRET, startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import { stripeEvent } from '../support/stripe-event.js';
import { stripeSignature, unixNow } from '../support/stripe-signing.js';
import { until } from '../support/until.js';
import { bytesOf, hostileBodies } from '../support/vectors.js';

let database: TestDatabase;
let receiver: RunningReceiver;

const LIMIT = 1024 * 1024;

beforeAll(async () => {
  database = await openDatabase();
  receiver = await startReceiver(database.url);
});

beforeEach(async () => {
  await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads, oncehook.webhook_redeliveries');
});

afterAll(async () => {
  await receiver.stop();
  await database.drop();
});

function request(path: string, init: RequestInit = {}): Request {
  return new Request(`http://shop.example${path}`, { method: 'POST', ...init });
}

function signed(body: string | Buffer, headers: Readonly<Record<string, string>> = {}): RequestInit {
  return {
    body: new Uint8Array(Buffer.from(body)),
    headers: { 'Stripe-Signature': stripeSignature(body, SECRET, unixNow()), ...headers },
  };
}

/** What a caller sees of an answer, but for the request's ID. */
async function seen(response: Response): Promise<unknown> {
  const { requestId, ...body } = JSON.parse(await response.text()) as { readonly requestId?: string };
  if (requestId !== undefined) expect(response.headers.get('x-request-id')).toBe(requestId);
  return { status: response.status, type: response.headers.get('content-type'), body };
}

function seenBy({ status, headers, body }: Awaited<ReturnType<typeof send>>): unknown {
  const { requestId: _, ...rest } = JSON.parse(body) as { readonly requestId?: string };
  return { status, type: headers['content-type'], body: rest };
}

test('a signed delivery is stored before the answer, and handed on once', async () => {
  const event = stripeEvent();
  const path = '/api/webhooks/stripe';
  const first = await receiver.receiver.fetch(request(path, signed(event.body)));
  expect(await seen(first)).toMatchObject({ status: 200, body: { status: 'accepted' } });
  expect(await database.rows('select event_id from oncehook.webhook_inbox')).toEqual([{ event_id: event.id }]);
  const again = await receiver.receiver.fetch(request(path, signed(event.body)));
  expect(await seen(again)).toMatchObject({ status: 200, body: { status: 'duplicate' } });
  await until('it is handed on', () => receiver.dispatched.some(({ eventId }) => eventId === event.id));
  expect(receiver.dispatched.filter(({ eventId }) => eventId === event.id)).toHaveLength(1);
});

test("a framework's own routing may name the source", async () => {
  const answer = await receiver.receiver.fetch(request('/anything', signed(stripeEvent().body)), 'stripe');
  expect(answer.status).toBe(200);
});

describe('it answers as the listener does', () => {
  const { body } = stripeEvent();
  const cases: [string, string, RequestInit][] = [
    ['another method', '/webhooks/stripe', { method: 'PUT', body: 'x' }],
    ['GET', '/webhooks/stripe', { method: 'GET' }],
    ['an unknown source', '/webhooks/nobody', signed(body)],
    ['a name that is inherited', '/webhooks/__proto__', signed(body)],
    ['an encoded name', '/webhooks/%73tripe', { body }],
    ['no signature', '/webhooks/stripe', { body }],
    ['a wrong signature', '/webhooks/stripe', { body, headers: { 'Stripe-Signature': 't=1,v1=00' } }],
    ['a name that cannot be decoded', '/webhooks/%zz', signed(body)],
    ['another path', '/webhooks/stripe/x', signed(body)],
    ['a compressed body', '/webhooks/stripe', signed(body, { 'Content-Encoding': 'gzip' })],
    ['a declared length over the limit', '/webhooks/stripe', signed(Buffer.alloc(LIMIT + 1))],
    ['no body', '/webhooks/stripe', { headers: { 'Stripe-Signature': 't=1,v1=00' } }],
    ['what is no JSON', '/webhooks/stripe', signed('{')],
    ['what is no event', '/webhooks/stripe', signed('{}')],
  ];

  test.each(cases)('%s', async (_name, path, init) => {
    const answer = await receiver.receiver.fetch(request(path, init));
    const { method = 'POST', headers = {}, body: sent } = init;
    const same = await send(receiver.port, {
      method,
      path,
      headers: {
        ...(headers as Record<string, string>),
        ...(sent !== undefined && { 'Content-Length': String(Buffer.from(sent as Uint8Array).length) }),
      },
      body: sent === undefined || sent === null ? '' : Buffer.from(sent as Uint8Array),
    });
    expect(await seen(answer)).toEqual(seenBy(same));
    expect(answer.headers.get('allow')).toBe(same.headers.allow ?? null);
  });

  test('every hostile body under a valid signature', async () => {
    for (const hostile of hostileBodies()) {
      const bytes = bytesOf(hostile);
      const answer = await seen(await receiver.receiver.fetch(request('/webhooks/stripe', signed(bytes))));
      await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads, oncehook.webhook_redeliveries');
      expect(answer, hostile.name).toEqual(seenBy(await deliver(receiver.port, SECRET, bytes)));
      await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads, oncehook.webhook_redeliveries');
    }
  });
});

describe('a body', () => {
  const stream = (
    pull: (controller: ReadableStreamDefaultController<Uint8Array>) => void | Promise<void>,
  ): RequestInit => ({
    body: new ReadableStream({ pull }),
    duplex: 'half',
    headers: { 'Stripe-Signature': 't=1,v1=00' },
  });

  test('without a length is refused at the first byte too many, and the rest is not read', async () => {
    let chunks = 0;
    const init = stream((controller) => {
      chunks += 1;
      controller.enqueue(new Uint8Array(64 * 1024));
    });
    expect((await receiver.receiver.fetch(request('/webhooks/stripe', init))).status).toBe(413);
    expect(chunks).toBeLessThan(24);
  });

  test('that breaks off ends the delivery', async () => {
    const init = stream((controller) => {
      controller.error(new Error('gone'));
    });
    expect((await receiver.receiver.fetch(request('/webhooks/stripe', init))).status).toBe(400);
    expect(receiver.lines).toContainEqual(expect.objectContaining({ outcome: 'aborted' }));
  });

  test('that somebody has read before is gone: the operator is told, and the sender comes again', async () => {
    const read = request('/webhooks/stripe', signed(stripeEvent().body));
    await read.json();
    expect((await receiver.receiver.fetch(read)).status).toBe(503);
    expect(receiver.lines).toContainEqual(expect.objectContaining({ cause: 'body_already_read', level: 'warn' }));
  });

  test('that never ends is given up after 8 s', async () => {
    const init = stream(() => new Promise(() => undefined));
    expect((await receiver.receiver.fetch(request('/webhooks/stripe', init))).status).toBe(408);
  });

  test('leaves no memory taken', async () => {
    expect((await receiver.metrics.bodyBytesInMemory.get()).values).toMatchObject([{ value: 0 }]);
  });
});

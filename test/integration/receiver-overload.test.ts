import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CheckpointHook } from '../../src/checkpoints.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { createGate, type Gate } from '../support/gate.js';
import { deliver, send, sendRaw } from '../support/http-client.js';
import { SECRET, startReceiver, type ReceiverSettings, type RunningReceiver } from '../support/running-receiver.js';
import { stripeEvent } from '../support/stripe-event.js';
import { stripeSignature, unixNow } from '../support/stripe-signing.js';
import { until } from '../support/until.js';

let database: TestDatabase;
let running: RunningReceiver[];

beforeEach(async () => {
  database = await openDatabase();
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((receiver) => receiver.stop()));
  await database.drop();
});

async function start(settings?: ReceiverSettings): Promise<RunningReceiver> {
  const receiver = await startReceiver(database.url, settings);
  running.push(receiver);
  return receiver;
}

/** Holds every request at a checkpoint until the gate opens. */
function heldAt(point: string): { gate: Gate; checkpoints: CheckpointHook } {
  const gate = createGate();
  return { gate, checkpoints: (name) => (name === point ? gate.pass() : Promise.resolve()) };
}

async function bytesInMemory({ metrics }: RunningReceiver): Promise<number | undefined> {
  return (await metrics.bodyBytesInMemory.get()).values[0]?.value;
}

function rawDelivery(body: string, length = body.length): string {
  const signature = stripeSignature(body, SECRET, unixNow());
  return `POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nStripe-Signature: ${signature}\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

describe('bodies in memory', () => {
  test('are bounded: who is over the bound is told to come again, and may when others are done', async () => {
    const { gate, checkpoints } = heldAt('receiver.before-insert');
    const receiver = await start({ checkpoints, maxBodyMemory: 100_000 });
    const padded = (): string => stripeEvent({ pad: 'x'.repeat(60_000) }).body;
    const first = deliver(receiver.port, SECRET, padded());
    await gate.reached;

    const second = await deliver(receiver.port, SECRET, padded());
    expect(second).toMatchObject({ status: 503 });
    expect(second.headers).toMatchObject({ 'retry-after': '5', connection: 'close' });
    gate.open();
    expect((await first).status).toBe(200);
    expect((await deliver(receiver.port, SECRET, padded())).status).toBe(200);
    expect(await bytesInMemory(receiver)).toBe(0);
  });
});

describe('a sender that', () => {
  test('goes away in the middle of its body leaves nothing behind', async () => {
    const receiver = await start();
    for (let round = 0; round < 50; round += 1) {
      const socket = connect(receiver.port, '127.0.0.1');
      socket.write('POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n' + 'x'.repeat(50_000));
      socket.on('error', () => undefined);
      await until('the body is being read', async () => (await bytesInMemory(receiver)) !== 0);
      if (round % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
      await until('its memory is given back', async () => (await bytesInMemory(receiver)) === 0);
    }
    await until('it was noticed', () => receiver.lines.some(({ outcome }) => outcome === 'aborted'));
    expect((await deliver(receiver.port, SECRET, stripeEvent().body)).status).toBe(200);
  });

  test('goes away before its answer has had its event stored and dispatched', async () => {
    const { gate, checkpoints } = heldAt('receiver.before-insert');
    const receiver = await start({ checkpoints });
    const { id, body } = stripeEvent();
    const socket = connect(receiver.port, '127.0.0.1');
    socket.write(rawDelivery(body));
    await gate.reached;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resetAndDestroy();
    await closed;
    gate.open();
    await until('the event is dispatched', () => receiver.dispatched.length === 1);
    expect(await database.rows('select event_id from oncehook.webhook_inbox')).toEqual([{ event_id: id }]);
    expect((await deliver(receiver.port, SECRET, body)).body).toBe('{"status":"duplicate"}');
  });

  test('closes its half after the request gets its answer', async () => {
    const receiver = await start();
    const answer = await sendRaw(receiver.port, [{ bytes: rawDelivery(stripeEvent().body), halfClose: true }]);
    expect(answer.statuses).toEqual([200]);
  });

  test('sends byte by byte is heard to the end, within the deadline', async () => {
    const receiver = await start();
    const bytes = Buffer.from(rawDelivery(stripeEvent().body));
    const steps = Array.from(bytes, (_, at) => ({ bytes: bytes.subarray(at, at + 1), waitMs: 1 }));
    expect((await sendRaw(receiver.port, steps)).statuses).toEqual([200]);
  });

  test('stops sending is told so after eight seconds', async () => {
    const receiver = await start();
    const answer = await sendRaw(receiver.port, [{ bytes: rawDelivery('{"id":"evt_1"', 100), waitMs: 20_000 }]);
    expect(answer.statuses).toEqual([408]);
    expect(answer.text).toMatch(/"code":"request_timeout"/);
    expect(answer.text).toMatch(/\r\nConnection: close\r\n/i);
    expect(answer.ms).toBeGreaterThan(7_500);
    expect(answer.ms).toBeLessThan(10_000);
    expect(await bytesInMemory(receiver)).toBe(0);
  });

  test.each([
    ['nothing', ''],
    ['half a header', 'POST /webhooks/stripe HTTP/1.1\r\nHos'],
  ])('sends %s is cut off after three seconds', async (_name, bytes) => {
    const receiver = await start();
    const answer = await sendRaw(receiver.port, [{ bytes, waitMs: 20_000 }]);
    expect(answer.statuses).toEqual([408]);
    expect(answer.ms).toBeGreaterThan(2_500);
    expect(answer.ms).toBeLessThan(6_000);
  });
});

describe('stopping', () => {
  test('answers what is in flight, refuses what is new, and ends', async () => {
    const { gate, checkpoints } = heldAt('receiver.before-insert');
    const receiver = await start({ checkpoints });
    const { id, body } = stripeEvent();
    const inFlight = sendRaw(receiver.port, [{ bytes: rawDelivery(body) }]);
    await gate.reached;
    // Open, and used before: a request on it now is new.
    const keptAlive = connect(receiver.port, '127.0.0.1');
    const text = new Promise<string>((resolve) => {
      let received = '';
      keptAlive.on('data', (chunk) => (received += chunk.toString()));
      keptAlive.on('close', () => {
        resolve(received);
      });
    });
    keptAlive.write('POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\n');
    await until('the connection is open', () => keptAlive.readyState === 'open');
    await new Promise((resolve) => setTimeout(resolve, 50));

    const stopped = receiver.stop();
    await expect(send(receiver.port, { method: 'GET', path: '/healthz' })).rejects.toThrow('ECONNREFUSED');
    keptAlive.write('\r\n{"id":"evt_1"}');
    gate.open();
    const answer = await inFlight;
    expect(answer.text).toMatch(/^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n[^]*{"status":"accepted"}$/);
    await stopped;
    expect(await text).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: 5\r\n[^]*"code":"unavailable"/);
    expect(await database.rows('select event_id from oncehook.webhook_inbox')).toEqual([{ event_id: id }]);
    expect(receiver.dispatched).toHaveLength(1);
  });

  test('is quick when nothing is open, also with connections that are kept alive', async () => {
    const receiver = await start();
    const idle = connect(receiver.port, '127.0.0.1');
    idle.on('error', () => undefined);
    idle.write(rawDelivery(stripeEvent().body));
    await new Promise((resolve) => idle.once('data', resolve));
    const startedAt = performance.now();
    await receiver.stop();
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  test('cuts what does not end by itself after its grace', async () => {
    const { gate, checkpoints } = heldAt('receiver.before-insert');
    const receiver = await start({ checkpoints });
    const hanging = deliver(receiver.port, SECRET, stripeEvent().body);
    const outcome = expect(hanging).rejects.toThrow('socket hang up');
    await gate.reached;
    const startedAt = performance.now();
    await receiver.receiver.stop();
    await outcome;
    expect(performance.now() - startedAt).toBeGreaterThan(9_000);
    expect(performance.now() - startedAt).toBeLessThan(12_000);
    gate.open();
  });

  test('may be asked for twice, and before it has listened', async () => {
    const receiver = await start();
    await Promise.all([receiver.receiver.stop(), receiver.receiver.stop()]);
  });
});

describe('checkpoints', () => {
  test.each(['receiver.body-read', 'receiver.before-insert', 'receiver.after-commit'] as const)(
    'an error at %s is 503, and the event comes through when it is sent again',
    async (point) => {
      let fired = false;
      const receiver = await start({
        checkpoints: (name) => {
          if (name !== point || fired) return Promise.resolve();
          fired = true;
          return Promise.reject(new Error('as the test wants it'));
        },
      });
      const { body } = stripeEvent();
      expect((await deliver(receiver.port, SECRET, body)).status).toBe(503);
      const again = await deliver(receiver.port, SECRET, body);
      expect(again.body).toBe(`{"status":"${point === 'receiver.after-commit' ? 'duplicate' : 'accepted'}"}`);
      expect(await bytesInMemory(receiver)).toBe(0);
    },
  );

  test('after the answer nothing holds the answer', async () => {
    const { gate, checkpoints } = heldAt('receiver.after-answer');
    const receiver = await start({ checkpoints });
    expect((await deliver(receiver.port, SECRET, stripeEvent().body)).status).toBe(200);
    await gate.reached;
    expect(receiver.dispatched).toEqual([]);
    gate.open();
    await until('the dispatch', () => receiver.dispatched.length === 1);
  });
});

import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createBodyMemory, type BodyMemory, type BodyReservation } from '../../src/http/body-memory.js';
import { readBody, type ReadBody, type ReadBodyOptions } from '../../src/http/read-body.js';

const LIMIT = 100_000;

let server: Server;
let memory: BodyMemory;
let taken: number;
let reservations: BodyReservation[];
let sockets: Socket[];

beforeEach(() => {
  sockets = [];
  reservations = [];
  taken = 0;
  memory = createBodyMemory(150_000, (bytes) => (taken = bytes));
});

afterEach(() => {
  sockets.forEach((socket) => socket.destroy());
  server.close();
});

/** Reads the body of the first request that `send` makes. */
async function readFirst(
  send: (socket: Socket) => void,
  options: Partial<ReadBodyOptions> = {},
): Promise<{ result: ReadBody; req: IncomingMessage }> {
  const read = new Promise<{ result: ReadBody; req: IncomingMessage }>((resolve) => {
    server = createServer((req) => {
      const reservation = memory.reserve();
      reservations.push(reservation);
      const reading = readBody(req, { maxBytes: LIMIT, deadlineMs: 5_000, reservation, ...options });
      void reading.then((result) => {
        resolve({ result, req });
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  send(socket);
  return read;
}

const head = (lines: string): string => `POST / HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n`;
const withLength = (length: number): string => head(`Content-Length: ${length}`);
const CHUNKED = head('Transfer-Encoding: chunked');

describe('readBody', () => {
  test('gives the bytes as they came', async () => {
    const body = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
    const { result } = await readFirst((socket) => {
      socket.write(withLength(body.length));
      socket.write(body);
    });
    expect(result.ok && result.body.equals(body)).toBe(true);
    expect(taken).toBe(body.length);
  });

  test('gives an empty body for a request without one', async () => {
    const { result } = await readFirst((socket) => socket.write(head('X-A: b')));
    expect(result).toEqual({ ok: true, body: Buffer.alloc(0) });
    expect(taken).toBe(0);
  });

  test('takes a body of exactly the limit, and none that is a byte longer', async () => {
    const exact = await readFirst((socket) => socket.write(withLength(LIMIT) + 'x'.repeat(LIMIT)));
    expect(exact.result.ok).toBe(true);
    server.close();
    reservations[0]!.release();
    const over = await readFirst((socket) =>
      socket.write(`${CHUNKED}${(LIMIT + 1).toString(16)}\r\n${'x'.repeat(LIMIT + 1)}\r\n0\r\n\r\n`),
    );
    expect(over.result).toEqual({ ok: false, cause: 'too_large' });
  });

  test('counts a body of many tiny chunks by its buffer', async () => {
    const { result } = await readFirst((socket) => socket.write(`${CHUNKED}${'1\r\nx\r\n'.repeat(20_000)}0\r\n\r\n`));
    expect(result.ok && result.body.length).toBe(20_000);
    expect(taken).toBeLessThanOrEqual(32 * 1024);
  });

  test('gives up at the deadline', async () => {
    const { result } = await readFirst((socket) => socket.write(withLength(10) + 'x'), { deadlineMs: 20 });
    expect(result).toEqual({ ok: false, cause: 'timeout' });
  });

  test('notices that the sender has gone', async () => {
    const { result } = await readFirst((socket) => {
      socket.write(withLength(10) + 'x', () => socket.destroy());
    });
    expect(result).toEqual({ ok: false, cause: 'aborted' });
  });

  test('stops at the common bound, and what it took can be given back', async () => {
    const other = memory.reserve();
    expect(other.growTo(100_000)).toBe(true);
    const { result } = await readFirst((socket) => socket.write(withLength(60_000) + 'x'.repeat(60_000)));
    expect(result).toEqual({ ok: false, cause: 'out_of_memory' });
    reservations[0]!.release();
    other.release();
    expect(taken).toBe(0);
  });

  test('says so when somebody else has read the body before', async () => {
    const { req } = await readFirst((socket) => socket.write(withLength(2) + '{}'));
    const reservation = memory.reserve();
    expect(await readBody(req, { maxBytes: 10, deadlineMs: 1_000, reservation })).toEqual({
      ok: false,
      cause: 'already_read',
    });
  });

  test('leaves no listener of its own on the request', async () => {
    const { req } = await readFirst((socket) => socket.write(withLength(2) + '{}'));
    expect(['data', 'end', 'close'].map((event) => req.listenerCount(event))).toEqual([0, 0, 0]);
  });
});

describe('body memory', () => {
  test('gives back once, however often it is asked', () => {
    const [first, second] = [memory.reserve(), memory.reserve()];
    first.growTo(100);
    second.growTo(100);
    first.release();
    first.release();
    expect(taken).toBe(100);
    expect(first.growTo(1)).toBe(false);
  });

  test('grows to a total, not by an amount', () => {
    const reservation = memory.reserve();
    expect(reservation.growTo(100_000)).toBe(true);
    expect(reservation.growTo(150_000)).toBe(true);
    expect(reservation.growTo(150_001)).toBe(false);
    expect(taken).toBe(150_000);
  });
});

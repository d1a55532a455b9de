import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { lostAnswer } from '../../src/prove/lost-answer.js';

function shapeOf(error: unknown): unknown {
  const { name, message, cause } = error as TypeError & { cause: { code: string; syscall: string; message: string } };
  return {
    name,
    message,
    fields: Object.keys(error as object),
    code: cause.code,
    syscall: cause.syscall,
    text: cause.message,
  };
}

test('a lost answer looks like what fetch says of a connection that was reset', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.resetAndDestroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const real: unknown = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' }).catch(
    (error: unknown) => error,
  );
  server.close();
  expect(shapeOf(lostAnswer())).toEqual(shapeOf(real));
});

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';

const LOOPBACK = '127.0.0.1';

/** True when nothing listens on this loopback port now. Another process may still be quicker; the caller must bear that. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, LOOPBACK);
    await once(server, 'listening'); // rejects with the server's 'error'
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/**
 * A loopback port that nobody listens on, below what Linux (32768 up) and macOS (49152 up) take for outgoing connections:
 * one of those may be in use by anybody's connection at the moment when a server wants it back.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    if (await isPortFree(port)) return port;
  }
}

/** The port noted in `file` if it is free, else the first free one of `preferred`, else any free one; noted in `file`. */
export async function stablePort(file: string, preferred: readonly number[] = []): Promise<number> {
  for (const port of [...notedPort(file), ...preferred]) {
    if (await isPortFree(port)) return note(file, port);
  }
  return note(file, await freePort());
}

/** True as soon as something accepts connections on the port. */
export async function accepts(port: number, host = LOOPBACK): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function notedPort(file: string): number[] {
  try {
    const port = Number(readFileSync(file, 'utf8'));
    return Number.isInteger(port) && port > 0 && port < 65_536 ? [port] : [];
  } catch {
    return [];
  }
}

function note(file: string, port: number): number {
  writeFileSync(file, `${port}\n`);
  return port;
}

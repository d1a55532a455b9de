import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';

const LOOPBACK = '127.0.0.1';

/** True when nothing listens on this loopback port now. Another process may still be quicker; the caller must bear that. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await listening(server, port);
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/**
 * A loopback port that nobody uses. One connection is opened and closed from the listening side: it rests in TIME_WAIT
 * for a minute, in which Linux hands the port to nobody who asks for any free one, while we can still bind it.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  await listening(server, 0);
  // Safe: a server listening on TCP has an address record, a string is for pipes only.
  const { port } = server.address() as AddressInfo;
  server.on('connection', (socket) => socket.end());
  const visitor = connect(port, LOOPBACK);
  visitor.resume();
  await once(visitor, 'end');
  visitor.destroy();
  server.close();
  return port;
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

async function listening(server: Server, port: number): Promise<void> {
  server.listen(port, LOOPBACK);
  await once(server, 'listening'); // rejects with the server's 'error'
}

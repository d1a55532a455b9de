import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HttpServer {
  /** @returns the port, which is the system's choice when 0 was asked for. */
  listen(host: string, port: number): Promise<number>;
  /**
   * Accepts no more connections, waits until the open ones are done, and cuts what is left after `graceMs`. Finished
   * when it returns; may be called twice.
   */
  stop(graceMs: number): Promise<void>;
}

/** From the first byte to the end of the headers, in milliseconds. */
const HEADERS_TIMEOUT_MS = 3_000;
/** A whole request; longer than headers and body have by themselves, so that their own answers come first. */
const REQUEST_TIMEOUT_MS = 13_000;
/** Longer than the 60 s of common load balancers: who closes an idle connection first must not be us. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Node's default of 30 s would make the timeouts above mean ten times as much. */
const CONNECTIONS_CHECK_MS = 1_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Under the usual limit of open files twice over; more than any sender of webhooks opens. */
const MAX_CONNECTIONS = 2_000;

/** An HTTP server on which nothing waits without a bound. */
export function createHttpServer(listener: RequestListener): HttpServer {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAlive: true,
      keepAliveInitialDelay: 10_000,
      noDelay: true,
    },
    listener,
  );
  server.maxConnections = MAX_CONNECTIONS;
  // Node would drop what is over 2,000 without a word; their bytes are bounded already.
  server.maxHeadersCount = 0;
  // A sender that closes its half after the request still wants the answer. Node's own switch, missing from its types
  // (lib/_http_server.js, socketOnEnd).
  Object.assign(server, { httpAllowHalfOpen: true });
  let stopped: Promise<void> | undefined;
  return {
    listen: (host, port) => listen(server, host, port),
    stop: (graceMs) => (stopped ??= stop(server, graceMs)),
  };
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // A server that listens on TCP has no other kind of address.
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return;
  await new Promise<void>((resolve) => {
    const cut = setTimeout(() => {
      server.closeAllConnections();
    }, graceMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}

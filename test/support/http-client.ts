import { request, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { stripeSignature, unixNow } from './stripe-signing.js';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly ms: number;
}

export interface RequestSettings {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** One request on a connection of its own. */
export async function send(port: number, settings: RequestSettings = {}): Promise<Answer> {
  const { method = 'POST', path = '/webhooks/stripe', headers = {}, body = '' } = settings;
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port, method, path, agent: false, headers }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        const ms = performance.now() - startedAt;
        resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString(), ms });
      });
    });
    req.on('error', reject);
    req.end(body);
  });
}

/** A delivery signed as Stripe signs it, now, unless told otherwise. */
export async function deliver(
  port: number,
  secret: string,
  body: string | Buffer,
  { headers = {}, ...settings }: RequestSettings = {},
): Promise<Answer> {
  const signed = { 'Stripe-Signature': stripeSignature(body, secret, unixNow()), ...headers };
  return send(port, { ...settings, headers: signed, body });
}

/** What came over a raw connection. */
export interface RawAnswer {
  /** Status of every answer, in order; interim ones (1xx) left out. */
  readonly statuses: readonly number[];
  readonly text: string;
  /** How the connection ended: in order, by a reset, or by us. */
  readonly ending: 'closed' | 'reset' | 'left';
  readonly ms: number;
}

export interface RawStep {
  readonly bytes?: Buffer | string;
  readonly waitMs?: number;
  readonly halfClose?: boolean;
}

/**
 * Writes bytes as they are on one connection, step by step. Done when the server has closed, or when as many answers
 * as expected have come and the connection has been quiet for a moment, or after `patienceMs`.
 */
export async function sendRaw(
  port: number,
  steps: readonly RawStep[],
  { patienceMs = 12_000, answers = 1, head = false }: { patienceMs?: number; answers?: number; head?: boolean } = {},
): Promise<RawAnswer> {
  const startedAt = performance.now();
  const chunks: Buffer[] = [];
  const text = (): string => Buffer.concat(chunks).toString('latin1');
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  return new Promise((resolve) => {
    const finish = (ending: RawAnswer['ending']): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ statuses: statusesIn(text()), text: text(), ending, ms: performance.now() - startedAt });
    };
    const timer = setTimeout(finish, patienceMs, 'left');
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (hasWhole(text(), answers, head)) setTimeout(finish, 100, 'left');
    });
    socket.on('error', () => {
      finish('reset');
    });
    socket.on('end', () => {
      finish('closed');
    });
    socket.on('connect', () => void write(socket, steps));
  });
}

/**
 * A request by hand, since a client library would refuse or encode some of these headers. One byte a character, so
 * that Latin-1 goes out as it is.
 */
export function rawPost(path: string, headers: readonly (readonly [string, string])[], body: Buffer): Buffer {
  const lines = [`POST ${path} HTTP/1.1`, 'Host: localhost', ...headers.map(([name, value]) => `${name}: ${value}`)];
  const head = `${[...lines, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

/** The code of the problem that an answer tells; empty if it tells none. */
export function codeIn(text: string): string {
  return /"code":"(\w+)"/.exec(text)?.[1] ?? '';
}

async function write(socket: Socket, steps: readonly RawStep[]): Promise<void> {
  for (const { bytes, waitMs = 0, halfClose = false } of steps) {
    if (socket.destroyed) return;
    if (bytes !== undefined && bytes.length > 0) socket.write(bytes);
    if (halfClose) socket.end();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

function statusesIn(text: string): number[] {
  return [...text.matchAll(/(?:^|\n|[^\r\n])HTTP\/1\.1 ([2-5]\d\d)/g)].map((match) => Number(match[1]));
}

/** Answers of ours carry a length or have no body; good enough to know that the last one has come. */
function hasWhole(text: string, answers: number, head: boolean): boolean {
  const heads = [...text.matchAll(/HTTP\/1\.1 [2-5]\d\d[^]*?\r\n\r\n/g)];
  const last = heads.at(answers - 1);
  if (last === undefined) return false;
  const length = head ? 0 : Number(/content-length: (\d+)/i.exec(last[0])?.[1] ?? 0);
  return text.length >= last.index + last[0].length + length;
}

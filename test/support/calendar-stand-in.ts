import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * What the calendar does with one request. `ok` is what it does without a script.
 * - `execute-then-cut`, `execute-then-hang`: done, and the answer is lost at once, or never comes.
 * - `hang`, `cut`: not done, and no answer.
 * - `503` and the like: not done, and says so; `429:2` asks for two seconds. `execute-then-503`: done, and says not.
 */
export type CalendarBehaviour =
  | 'ok'
  | 'execute-then-cut'
  | 'execute-then-hang'
  | 'hang'
  | 'cut'
  | `${number}`
  | `${number}:${string}`
  | `execute-then-${number}`;

export interface CalendarCall {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
}

export interface CalendarEntry {
  readonly tenant: string;
  readonly appointment_id: string;
  readonly version: number;
  readonly status: string;
  readonly starts_at: string;
  readonly ends_at: string;
  readonly title: string;
}

/** Somebody else's calendar, as docs/handler-sets.md asks it to be: nothing twice under a key, and the same rule as ours. */
export interface CalendarStandIn {
  readonly url: string;
  readonly port: number;
  /** Every request that arrived whole, in order. */
  readonly calls: readonly CalendarCall[];
  /** What was done, in order, by key; it is written before anything is answered. */
  readonly executed: readonly { readonly key: string; readonly entry: CalendarEntry }[];
  /** What the calendar shows, by tenant and appointment. */
  readonly entries: ReadonlyMap<string, CalendarEntry>;
  /** For the next requests, one each. */
  script(...behaviours: readonly CalendarBehaviour[]): void;
  close(): Promise<void>;
}

export async function startCalendar(path = '/hook', port = 0): Promise<CalendarStandIn> {
  const calls: CalendarCall[] = [];
  const executed: { key: string; entry: CalendarEntry }[] = [];
  const entries = new Map<string, CalendarEntry>();
  const scripted: CalendarBehaviour[] = [];

  const execute = ({ key, body }: CalendarCall): void => {
    if (executed.some((done) => done.key === key)) return;
    const entry = JSON.parse(body) as CalendarEntry;
    executed.push({ key, entry });
    const name = `${entry.tenant}/${entry.appointment_id}`;
    const standing = entries.get(name);
    if (standing === undefined || ranks(entry) > ranks(standing)) entries.set(name, entry);
  };

  const server = createServer((request, response) => {
    void readCall(request).then((call) => {
      calls.push(call);
      const behaviour = scripted.shift() ?? 'ok';
      if (behaviour === 'ok' || behaviour.startsWith('execute-')) execute(call);
      answer(behaviour.replace('execute-then-', ''), request, response);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const at = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${at.port}${path}`,
    port: at.port,
    calls,
    executed,
    entries,
    script: (...behaviours) => void scripted.push(...behaviours),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A cancel before everything, then the version. */
function ranks({ status, version }: CalendarEntry): number {
  return (status === 'canceled' ? 1_000_000 : 0) + version;
}

async function readCall(request: IncomingMessage): Promise<CalendarCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    key: String(request.headers['idempotency-key']),
    authorization: request.headers.authorization,
    contentType: request.headers['content-type'],
    body: Buffer.concat(chunks).toString(),
  };
}

function answer(behaviour: string, request: IncomingMessage, response: ServerResponse): void {
  if (behaviour === 'hang') return;
  if (behaviour === 'cut') {
    request.socket.destroy();
    return;
  }
  const [status = '', retryAfter] = behaviour === 'ok' ? ['200'] : behaviour.split(':');
  response.writeHead(Number(status), retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  response.end('{"text":"what the calendar says, which must come to rest nowhere"}');
}

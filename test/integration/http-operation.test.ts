import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CheckpointName } from '../../src/checkpoints.js';
import { operationKey, type AnyOperationDefinition } from '../../src/index.js';
import { httpOperation, type HttpOperationOptions } from '../../src/providers/http-operation.js';
import { startCalendar, type CalendarBehaviour, type CalendarStandIn } from '../support/calendar-stand-in.js';
import { openOperationsBench, type OperationsBench, type PerformOptions } from '../support/operations-bench.js';
import { attemptUntilSettled, deathAt, type Attempt } from '../support/settle-attempts.js';

const KEY = operationKey('http', 'calendar', 't1', 'a/1', '3');
const BODY = {
  tenant: 't1',
  appointment_id: 'a/1',
  version: 3,
  status: 'rescheduled',
  starts_at: '2026-03-02T09:00:00Z',
  ends_at: '2026-03-02T09:30:00Z',
  title: 'Prüfung',
};
const TOKEN = 'a-token-of-the-url';
const HOUR_MS = 3_600_000;

let bench: OperationsBench;
let calendar: CalendarStandIn;

beforeAll(async () => {
  bench = await openOperationsBench();
});
afterAll(() => bench.close());
beforeEach(async () => {
  await bench.pool.query('truncate oncehook.operations');
  calendar = await startCalendar(`/hook?token=${TOKEN}`);
});
afterEach(() => calendar.close());

function http(url = calendar.url): AnyOperationDefinition {
  return httpOperation({ targets: { calendar: { url: () => url } } });
}

async function planned(
  definition: AnyOperationDefinition = http(),
  options: Omit<PerformOptions, 'definitions'> = {},
): Promise<Attempt> {
  await bench.plan([{ kind: 'http', key: KEY, params: { target: 'calendar', body: BODY } }], {
    definitions: [definition],
  });
  const perform = bench.performer({ ...options, definitions: [definition] });
  return () => perform({ operationKey: KEY });
}

function untilSettled(attempt: Attempt): Promise<string> {
  return attemptUntilSettled(bench, KEY, attempt);
}

/** However many calls there are, they are the same request. */
function expectOneRequest(): void {
  expect(new Set(calendar.calls.map((call) => JSON.stringify(call))).size).toBeLessThanOrEqual(1);
}

describe('a request', () => {
  test('is a POST of the frozen body to the whole URL, under the key of its row', async () => {
    expect(await untilSettled(await planned())).toBe('confirmed');
    const row = await bench.read(KEY);
    expect(calendar.calls).toEqual([
      {
        method: 'POST',
        path: `/hook?token=${TOKEN}`,
        key: row.idempotency_key,
        authorization: undefined,
        contentType: 'application/json',
        body: expect.any(String) as string,
      },
    ]);
    expect(JSON.parse(calendar.calls[0]!.body)).toEqual(BODY);
    expect(row).toMatchObject({ provider_reference: null, last_error: null });
  });

  test('carries the user and password of its URL', async () => {
    const attempt = await planned(http(calendar.url.replace('//', '//shop:p%40ss@')));
    expect(await untilSettled(attempt)).toBe('confirmed');
    expect(calendar.calls[0]?.authorization).toBe(`Basic ${Buffer.from('shop:p@ss').toString('base64')}`);
  });

  test.each<[CalendarBehaviour, string]>([
    ['409', 'http_409'],
    ['422', 'http_422'],
    ['404', 'http_404'],
  ])('that is refused (%s) is not tried again', async (behaviour, code) => {
    calendar.script(behaviour);
    const attempt = await planned();
    expect(await untilSettled(attempt)).toBe('refused');
    await attempt();
    expect(calendar.calls).toHaveLength(1);
    expect(await bench.read(KEY)).toMatchObject({ last_error: code });
  });

  test.each<[CalendarBehaviour, string]>([
    ['401', 'http_401'],
    ['403', 'http_403'],
    ['307:0', 'http_307'],
  ])(
    'that cannot be right until an operator acts (%s) is tried again and logged as an error',
    async (behaviour, code) => {
      const log: string[] = [];
      calendar.script(behaviour);
      const attempt = await planned(http(), { log });
      expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
      expect(JSON.parse(log[0] ?? '')).toMatchObject({ level: 'error', code });
      expect(await untilSettled(attempt)).toBe('confirmed');
      expect(calendar.executed).toHaveLength(1);
    },
  );

  test('waits as long as it is asked to', async () => {
    calendar.script('429:90', '429:0');
    const attempt = await planned();
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned', delayMs: 90_000 });
    expect((await bench.read(KEY)).due_in_ms).toBeGreaterThan(90_000);
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calendar.executed).toHaveLength(1);
  });

  test('waits out a calendar that is down, and is given up after its time', async () => {
    const { port } = calendar;
    await calendar.close();
    const attempt = await planned();
    for (let round = 0; round < 3; round += 1) {
      expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    }
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'http_connection', lost_answers: 0 });
    await bench.age(KEY, 71 * HOUR_MS);
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    calendar = await startCalendar(undefined, port);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
  });

  test('whose target this worker does not have waits for one that has it', async () => {
    const log: string[] = [];
    const without = httpOperation({ targets: {} });
    const attempt = await planned(without, { log });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(JSON.parse(log[0] ?? '')).toMatchObject({ level: 'error', code: 'unknown_target' });
    expect(await bench.performer({ definitions: [http()] })({ operationKey: KEY })).toMatchObject({
      status: 'confirmed',
    });
  });

  test('leaves neither the URL nor a word of the calendar in rows and logs', async () => {
    const log: string[] = [];
    calendar.script('401', '503', 'cut', '409');
    const attempt = await planned(http(), { log });
    expect(await untilSettled(attempt)).toBe('parked');
    expect(log.length).toBeGreaterThan(3);
    const { rows } = await bench.pool.query('select * from oncehook.operations');
    for (const text of [log.join(''), JSON.stringify(rows)]) {
      expect(text).not.toContain(TOKEN);
      expect(text).not.toContain(String(calendar.port));
      expect(text).not.toContain('says');
    }
    expect(log.join('')).not.toContain('Prüfung');
  });
});

describe('an answer that is lost', () => {
  test.each<[string, CalendarBehaviour, string]>([
    ['done, cut before the answer', 'execute-then-cut', 'http_answer_lost'],
    ['done, and then silence', 'execute-then-hang', 'http_timeout'],
    ['done, and then 503', 'execute-then-503', 'http_503'],
    ['done, and shown another page', 'execute-then-303', 'http_303'],
    ['not done, cut', 'cut', 'http_answer_lost'],
    ['not done, silence', 'hang', 'http_timeout'],
    ['not done, 500', '500', 'http_500'],
  ])('%s: unknown, then the same request again, done once', async (_what, behaviour, code) => {
    calendar.script(behaviour);
    const attempt = await planned(http(), { limits: { attemptMs: 1_000 } });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    expect(await bench.read(KEY)).toMatchObject({ status: 'unknown', last_error: code, lost_answers: 1 });
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calendar.calls).toHaveLength(2);
    expect(calendar.executed).toHaveLength(1);
    expectOneRequest();
  });

  test.each<[CheckpointName, number]>([
    ['operation.before-intent', 1],
    ['operation.intent-stored', 1],
    ['operation.answered', 2],
    ['operation.answer-stored', 1],
  ])('because the process died at %s: confirmed, %i calls, done once', async (point, calls) => {
    const attempt = await planned(http(), { checkpoints: deathAt(point) });
    expect(await untilSettled(attempt)).toBe('confirmed');
    expect(calendar.calls).toHaveLength(calls);
    expect(calendar.executed).toHaveLength(1);
    expectOneRequest();
  });

  test('and then a refusal: what the lost attempt did stays unknown', async () => {
    calendar.script('execute-then-cut', '409');
    expect(await untilSettled(await planned())).toBe('parked');
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'outcome_unknown' });
  });

  test('always: it stops after eight', async () => {
    calendar.script(...Array<CalendarBehaviour>(20).fill('execute-then-cut'));
    expect(await untilSettled(await planned())).toBe('parked');
    expect(calendar.calls).toHaveLength(8);
    expect(calendar.executed).toHaveLength(1);
    expectOneRequest();
  });
});

test('eight attempts at once are one request', async () => {
  const attempt = await planned();
  await Promise.all(Array.from({ length: 8 }, () => attempt()));
  expect(await untilSettled(attempt)).toBe('confirmed');
  expect(calendar.calls).toHaveLength(1);
});

/** A server that answers with bytes of the test's own, once a request has begun to arrive. */
async function rawServer(answer: (socket: Socket) => void): Promise<{ server: Server; url: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      answer(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

describe('a strange answer', () => {
  test.each<[string, string, string]>([
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9\r\n', 'http_answer_lost'],
    ['half a head', 'HTTP/1.1 200 OK\r\nContent-', 'http_answer_lost'],
    ['more head than anybody reads', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, 'http_answer_lost'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', 'http_answer_lost'],
  ])('%s: unknown', async (_what, bytes, code) => {
    const { server, url } = await rawServer((socket) => socket.end(bytes));
    const attempt = await planned(http(url));
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: code });
    server.close();
  });

  test.each<[string, string]>([
    ['a body cut short', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'],
    ['hints before it', 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n'],
    ['a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n'],
  ])('%s: the status counts', async (_what, bytes) => {
    const { server, url } = await rawServer((socket) => socket.end(bytes));
    expect(await (await planned(http(url)))()).toEqual({ kind: 'settled', status: 'confirmed' });
    server.close();
  });

  test('an endless body is left after little of it, and the status counts', async () => {
    let taken = 0;
    const { server, url } = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const chunk = Buffer.alloc(65_536, 'x');
      const pour = (): void => {
        while (!socket.destroyed && socket.write(chunk)) taken += chunk.length;
        socket.once('drain', pour);
      };
      pour();
    });
    expect(await (await planned(http(url)))()).toEqual({ kind: 'settled', status: 'confirmed' });
    // What the kernel's buffers swallow is not ours to bound.
    expect(taken).toBeLessThan(16 * 1_048_576);
    server.close();
  });

  test('a body that drips does not hold the attempt up, and the status counts', async () => {
    const { server, url } = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => socket.write('x'), 50);
      socket.on('close', () => {
        clearInterval(timer);
      });
    });
    const begun = performance.now();
    expect(await (await planned(http(url)))()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(performance.now() - begun).toBeLessThan(3_000);
    server.close();
  });

  test('TLS that does not come up: not sent, and logged as an error', async () => {
    const log: string[] = [];
    const attempt = await planned(http(calendar.url.replace('http:', 'https:')), { log });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(JSON.parse(log[0] ?? '')).toMatchObject({ level: 'error', code: 'http_tls' });
    expect(calendar.calls).toEqual([]);
  });

  test('TLS that never ends: not sent', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const attempt = await planned(http(url), { limits: { attemptMs: 1_000 } });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'http_connect_timeout', lost_answers: 0 });
    server.close();
  });

  test('a name that does not exist: not sent', async () => {
    const attempt = await planned(http('http://calendar.invalid/'));
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'http_dns' });
  });
});

describe('a kind of one’s own', () => {
  const own = (changes: Partial<HttpOperationOptions> = {}): AnyOperationDefinition =>
    httpOperation({
      kind: 'crm',
      targets: { people: { url: () => calendar.url, headers: () => ({ Authorization: `Bearer ${TOKEN}` }) } },
      ...changes,
    });
  const plannedOwn = async (definition: AnyOperationDefinition): Promise<Attempt> => {
    const definitions = [definition];
    await bench.plan([{ kind: 'crm', key: KEY, params: { target: 'people', body: BODY } }], { definitions });
    const perform = bench.performer({ definitions });
    return () => perform({ operationKey: KEY });
  };

  test('has its name, its targets and their headers, which lie in no row', async () => {
    expect(await untilSettled(await plannedOwn(own()))).toBe('confirmed');
    const row = await bench.read(KEY);
    expect(calendar.calls).toMatchObject([{ authorization: `Bearer ${TOKEN}`, key: row.idempotency_key }]);
    expect(JSON.stringify(row)).not.toContain(TOKEN);
  });

  test.each([
    ['a refusal after a lost answer', {}, 'parked', 'outcome_unknown'],
    ['the same where keys are honoured', { keyTtlMs: 24 * HOUR_MS }, 'refused', 'http_409'],
  ])('%s', async (_what, changes, status, code) => {
    calendar.script('cut', '409');
    expect(await untilSettled(await plannedOwn(own(changes)))).toBe(status);
    expect(await bench.read(KEY)).toMatchObject({ last_error: code });
  });

  test('is not sent again when its target has had time to forget the key', async () => {
    calendar.script('execute-then-cut');
    const attempt = await plannedOwn(own({ keyTtlMs: 24 * HOUR_MS }));
    expect(await attempt()).toMatchObject({ status: 'unknown' });
    await bench.age(KEY, 20 * HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(calendar.calls).toHaveLength(1);
  });

  test('whose headers cannot be made at the moment waits, and says so', async () => {
    let token: string | undefined = TOKEN;
    const headers = (): Record<string, string> => {
      if (token === undefined) throw new Error('the vault is closed');
      return { authorization: token };
    };
    const definition = own({ targets: { people: { url: () => calendar.url, headers } } });
    token = undefined;
    const attempt = await plannedOwn(definition);
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'unknown_target' });
    token = TOKEN;
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
  });

  test.each<[string, Record<string, string>]>([
    ['that end one and begin another', { 'x-shop': 'a\r\nx-other: b' }],
    ['with a name that is none', { 'x shop': 'a' }],
    ['that oncehook sets', { 'Idempotency-Key': 'mine' }],
    ['that say where a request ends', { 'Transfer-Encoding': 'chunked' }],
  ])('refuses headers %s', (_what, headers) => {
    const define = (): unknown => own({ targets: { people: { url: () => calendar.url, headers: () => headers } } });
    expect(define).toThrow(/headers of target "people"/);
  });

  test.each(['People', 'a b', '', '1st'])('refuses the target name %j', (name) => {
    expect(() => own({ targets: { [name]: { url: () => calendar.url } } })).toThrow(/target's name/);
  });
});

describe('the definition', () => {
  test.each(['', 'calendar.example', 'ftp://calendar.example', `http://x:%zz${TOKEN}@calendar.example`])(
    'refuses %j as a URL, without quoting it',
    (url) => {
      expect(() => http(url)).toThrow(TypeError);
      expect(() => http(url)).not.toThrow(TOKEN);
      expect(() => http(url)).toThrow(/target "calendar"/);
    },
  );

  test.each<[string, unknown]>([
    ['a URL for a target', { target: 'https://evil.example', body: {} }],
    ['a URL beside the target', { target: 'calendar', body: {}, url: 'https://evil.example' }],
    ['a body that is no object', { target: 'calendar', body: 'text' }],
    ['no body', { target: 'calendar' }],
  ])('refuses parameters with %s', async (_what, params) => {
    const plan = bench.plan([{ kind: 'http', key: KEY, params }], { definitions: [http()] });
    await expect(plan).rejects.toThrow(/parameters that its kind refuses/);
  });
});

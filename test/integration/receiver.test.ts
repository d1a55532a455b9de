import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { deliver, send, sendRaw } from '../support/http-client.js';
import {
  SECRET,
  secretsOf,
  startReceiver,
  type ReceiverSettings,
  type RunningReceiver,
} from '../support/running-receiver.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { stripeEvent } from '../support/stripe-event.js';
import { stripeDigest, stripeSignature, unixNow } from '../support/stripe-signing.js';
import { until } from '../support/until.js';

let database: TestDatabase;
let running: RunningReceiver[] = [];

beforeAll(async () => {
  database = await openDatabase();
});

afterEach(async () => {
  for (const receiver of running) await receiver.stop();
  running = [];
});

afterAll(async () => {
  await database.drop();
});

async function start(settings?: ReceiverSettings): Promise<RunningReceiver> {
  const receiver = await startReceiver(database.url, settings);
  running.push(receiver);
  return receiver;
}

async function inboxRow(id: string): Promise<Record<string, unknown> | undefined> {
  const rows = await database.rows<Record<string, unknown>>(
    `select i.*, p.payload::text as payload, sha256(convert_to(p.payload::text, 'UTF8')) = i.signed_sha256 as hash_fits,
            (select count(*)::integer from oncehook.webhook_redeliveries r where r.event_id = i.event_id) as redeliveries
       from oncehook.webhook_inbox i
       left join oncehook.webhook_payloads p using (source_scope, event_id)
      where i.event_id = $1`,
    [id],
  );
  return rows[0];
}

describe('an event', () => {
  test('is accepted once, then a duplicate, and dispatched once', async () => {
    const receiver = await start();
    const { id, body } = stripeEvent({ request: { id: 'req_1' } });

    const first = await deliver(receiver.port, SECRET, body, { headers: { 'X-Request-Id': 'proxy-1' } });
    expect(first).toMatchObject({ status: 200, body: '{"status":"accepted"}' });
    expect(first.headers).toMatchObject({
      'x-request-id': 'proxy-1',
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect(first.headers['x-powered-by']).toBeUndefined();
    const second = await deliver(receiver.port, SECRET, body);
    expect(second).toMatchObject({ status: 200, body: '{"status":"duplicate"}' });

    expect(await inboxRow(id)).toMatchObject({
      source_scope: 'stripe:acct_1:test',
      source: 'stripe',
      event_type: 'payment_intent.succeeded',
      status: 'pending',
      outcome: null,
      request_id: 'proxy-1',
      provider_created_at: new Date(1_700_000_000_000),
      secret_position: 0,
      first_copy: false,
      attempts: 0,
      payload: body,
      hash_fits: true,
      redeliveries: 1,
    });
    await until('the dispatch', () => receiver.dispatched.length > 0);
    expect(receiver.dispatched).toEqual([
      { scope: 'stripe:acct_1:test', eventId: id, eventType: 'payment_intent.succeeded' },
    ]);
    expect(receiver.lines.filter(({ msg }) => msg === 'delivery')).toMatchObject([
      {
        requestId: 'proxy-1',
        source: 'stripe',
        scope: 'stripe:acct_1:test',
        eventId: id,
        senderRequestId: 'req_1',
        outcome: 'accepted',
        durationMs: expect.any(Number) as number,
      },
      { requestId: second.headers['x-request-id'], eventId: id, outcome: 'duplicate' },
    ]);
  });

  test('waits five seconds for its own start before it is due', async () => {
    const receiver = await start();
    const { id, body } = stripeEvent();
    await deliver(receiver.port, SECRET, body);
    const rows = await database.rows<{ wait: string }>(
      'select (next_attempt_at - received_at)::text as wait from oncehook.webhook_inbox where event_id = $1',
      [id],
    );
    expect(rows[0]?.wait).toBe('00:00:05');
  });

  test('of a type under ignore is done on receipt, and not dispatched', async () => {
    const receiver = await start({ source: { ignore: ['invoice.*'] } });
    const { id, body } = stripeEvent({ type: 'invoice.paid' });
    expect((await deliver(receiver.port, SECRET, body)).body).toBe('{"status":"accepted"}');
    const row = await inboxRow(id);
    expect(row).toMatchObject({ status: 'done', outcome: 'ignored', reason: null, payload: body });
    expect(row?.completed_at).toEqual(row?.received_at);
    await receiver.stop();
    expect(receiver.dispatched).toEqual([]);
  });

  test('of another mode is kept in its own scope for an operator, and not dispatched', async () => {
    const receiver = await start({ source: { mode: 'live' } });
    const { id, body } = stripeEvent({ livemode: false });
    expect((await deliver(receiver.port, SECRET, body)).status).toBe(200);
    expect(await inboxRow(id)).toMatchObject({
      source_scope: 'stripe:acct_1:test',
      status: 'quarantined',
      reason: 'mode_mismatch',
      completed_at: null,
    });
    await receiver.stop();
    expect(receiver.dispatched).toEqual([]);
    expect((await receiver.metrics.quarantines.get()).values).toMatchObject([
      { labels: { source: 'stripe', reason: 'mode_mismatch' }, value: 1 },
    ]);
  });

  test('is answered as its source says', async () => {
    const receiver = await start({ source: { response: { body: '[accepted]', contentType: 'text/plain' } } });
    const answer = await deliver(receiver.port, SECRET, stripeEvent().body);
    expect(answer).toMatchObject({ status: 200, body: '[accepted]' });
    expect(answer.headers['content-type']).toBe('text/plain');
  });

  test('of the thin kind is stored like any other', async () => {
    const receiver = await start();
    const { id, body } = stripeEvent({
      object: 'v2.core.event',
      type: 'v1.payment_intent.succeeded',
      created: '2026-01-01T00:00:00.000Z',
    });
    expect((await deliver(receiver.port, SECRET, body)).body).toBe('{"status":"accepted"}');
    expect(await inboxRow(id)).toMatchObject({ provider_created_at: new Date('2026-01-01T00:00:00Z') });
  });
});

describe('the bytes that were signed', () => {
  // C01: https://github.com/octokit/webhooks.js/issues/1155
  test('count, not what a decoder makes of them, however they are cut', async () => {
    const receiver = await start();
    const { id } = stripeEvent();
    const text = `{\n  "id": "${id}",\n  "type": "payment_intent.succeeded",\n  "name": "Zoë 😀",\n  "e": "\\u00e9",\n  "path": "a\\/b"\n}\n`;
    const body = Buffer.from(text);
    const cut = body.indexOf(Buffer.from('😀')) + 2;
    const head = (signature: string): string =>
      `POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nStripe-Signature: ${signature}\r\n\r\n`;
    const chunk = (bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
    const steps = (signature: string): { bytes: Buffer | string; waitMs?: number }[] => [
      { bytes: head(signature) },
      { bytes: chunk(body.subarray(0, cut)), waitMs: 50 },
      { bytes: Buffer.concat([chunk(body.subarray(cut)), Buffer.from('0\r\n\r\n')]) },
    ];

    const restringified = stripeSignature(JSON.stringify(JSON.parse(text)), SECRET, unixNow());
    expect((await sendRaw(receiver.port, steps(restringified))).statuses).toEqual([401]);
    expect(await inboxRow(id)).toBeUndefined();
    expect((await sendRaw(receiver.port, steps(stripeSignature(body, SECRET, unixNow())))).statuses).toEqual([200]);
    expect(await inboxRow(id)).toMatchObject({ payload: text, hash_fits: true });
  });

  // C30: https://github.com/hasura/graphql-engine/issues/6782
  test.each([
    ['a NUL in a value', '"metadata":{"a":"x\\u0000y"}'],
    ['a NUL in a key', '"metadata":{"a\\u0000b":"x"}'],
    ['the escape as six characters', '"metadata":{"a":"\\\\u0000"}'],
    ['a lone surrogate', '"a":"\\ud800"'],
    ['a number that no float holds', '"n":90071992547409931e400'],
  ])('are kept to the character: %s', async (_name, field) => {
    const receiver = await start();
    const { id } = stripeEvent();
    const body = `{"id":"${id}","type":"payment_intent.succeeded",${field}}`;
    expect((await deliver(receiver.port, SECRET, body)).body).toBe('{"status":"accepted"}');
    expect(await inboxRow(id)).toMatchObject({ payload: body, hash_fits: true });
  });
});

describe('secrets', () => {
  // C04: https://github.com/integrallis/stripe_event/issues/98
  const [first, second] = ['whsec_secret_a', 'whsec_secret_b'];
  const header = (...elements: readonly [scheme: string, secret: string][]): ((body: string) => string) => {
    const now = unixNow();
    return (body) =>
      [`t=${now}`, ...elements.map(([scheme, secret]) => `${scheme}=${stripeDigest(body, secret, now)}`)].join(',');
  };

  test.each<[string, (body: string) => string, number, number | undefined]>([
    ['both, in order', header(['v1', first], ['v1', second]), 200, 0],
    ['both, the other way round', header(['v1', second], ['v1', first]), 200, 0],
    ['a wrong one and a right one', header(['v1', 'whsec_other'], ['v1', second]), 200, 1],
    ['only the second', header(['v1', second]), 200, 1],
    ['the right value under another scheme', header(['v0', first], ['v1', 'whsec_other']), 401, undefined],
    ['one that is no longer in force', header(['v1', 'whsec_other']), 401, undefined],
  ])('several are in force at once: signed with %s', async (_name, signatureOf, status, position) => {
    const receiver = await start({ source: { secrets: secretsOf(first, second) } });
    const { id, body } = stripeEvent();
    const answer = await send(receiver.port, { body, headers: { 'Stripe-Signature': signatureOf(body) } });
    expect(answer.status).toBe(status);
    expect((await inboxRow(id))?.secret_position).toBe(position);
  });

  test('may be replaced while the receiver runs', async () => {
    let secrets = secretsOf(first);
    const receiver = await start({ source: { secrets: { current: () => secrets.current() } } });
    secrets = secretsOf(second);
    expect((await deliver(receiver.port, first, stripeEvent().body)).status).toBe(401);
    expect((await deliver(receiver.port, second, stripeEvent().body)).status).toBe(200);
  });
});

describe('the signed time', () => {
  // C05: https://github.com/stripe/stripe-dotnet/issues/1183
  test.each([
    ['4 minutes ago', -240, 200],
    ['in 4 minutes', 240, 200],
    ['an hour ago', -3600, 401],
    ['in an hour', 3600, 401],
  ])('%s', async (_name, skew, status) => {
    const receiver = await start();
    const { body } = stripeEvent();
    const signature = stripeSignature(body, SECRET, unixNow() + skew);
    expect((await send(receiver.port, { body, headers: { 'Stripe-Signature': signature } })).status).toBe(status);
    if (status === 401) {
      const [line] = receiver.lines.filter(({ msg }) => msg === 'delivery');
      expect(line).toMatchObject({ outcome: 'invalid_signature', cause: 'timestamp_out_of_tolerance' });
      expect(Math.abs(Number(line?.skewSeconds) - skew)).toBeLessThanOrEqual(2);
    }
  });

  test.each([
    ['missing', (digest: string) => `v1=${digest}`],
    ['text', (digest: string) => `t=abc,v1=${digest}`],
    ['an exponent', (digest: string) => `t=12e3,v1=${digest}`],
    ['given twice', (digest: string) => `t=${unixNow()},t=${unixNow()},v1=${digest}`],
  ])('is refused when it is %s', async (_name, headerOf) => {
    const receiver = await start();
    const { body } = stripeEvent();
    const signature = headerOf(stripeDigest(body, SECRET, unixNow()));
    expect((await send(receiver.port, { body, headers: { 'Stripe-Signature': signature } })).status).toBe(401);
  });
});

describe('the size of a body', () => {
  // C02: https://github.com/Shopify/shopify-app-js/issues/233
  test.each([
    ['300 kB', 300_000],
    ['the cap exactly', 1024 * 1024],
  ])('%s is taken', async (_name, size) => {
    const receiver = await start();
    const { id, body } = stripeEvent();
    const padded = body + ' '.repeat(size - body.length);
    expect((await deliver(receiver.port, SECRET, padded)).body).toBe('{"status":"accepted"}');
    expect(await inboxRow(id)).toMatchObject({ hash_fits: true });
  });

  test('a byte over the cap is refused from the declared length, before it is sent', async () => {
    const receiver = await start();
    const answer = await sendRaw(receiver.port, [
      { bytes: `POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: ${1024 * 1024 + 1}\r\n\r\n` },
    ]);
    expect(answer.statuses).toEqual([413]);
    expect(answer.text).toMatch(/\r\nConnection: close\r\n/i);
    expect(answer.ms).toBeLessThan(1_000);
  });

  test('over the cap without a declared length it is refused at the first byte too many, and the answer arrives', async () => {
    const receiver = await start();
    const head = 'POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const before = process.memoryUsage().arrayBuffers;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        sendRaw(receiver.port, [{ bytes: head }, ...Array.from({ length: 200 }, () => ({ bytes: chunk }))]),
      ),
    );
    expect(answers.map(({ statuses }) => statuses)).toEqual(answers.map(() => [413]));
    expect((await receiver.metrics.bodyBytesInMemory.get()).values).toMatchObject([{ value: 0 }]);
    // The clients' own copies included: 20 bodies of 13 MB were never in memory.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(150 * 1024 * 1024);
  });
});

describe('a sender that is still sending when it is refused', () => {
  test('reads the answer and an end, not a reset', async () => {
    const receiver = await start();
    const head = 'POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n';
    for (let round = 0; round < 10; round += 1) {
      const body = Buffer.alloc(3_000_000, 'x');
      const answer = await sendRaw(receiver.port, [{ bytes: head, waitMs: 20 }, { bytes: body }], { answers: 2 });
      expect(answer).toMatchObject({ statuses: [413], ending: 'closed' });
    }
  });
});

describe('requests that are refused', () => {
  test('leave one line each, up to ten a second, and a count of the rest', async () => {
    const receiver = await start();
    await Promise.all(Array.from({ length: 25 }, () => send(receiver.port, { body: 'x' })));
    await receiver.stop();
    const refusals = receiver.lines.filter(({ outcome }) => outcome === 'invalid_signature');
    const left = receiver.lines.filter(({ suppressed }) => suppressed !== undefined);
    expect(refusals.length + left.reduce((sum, { suppressed }) => sum + Number(suppressed), 0)).toBe(25);
    expect(refusals.length).toBeLessThan(25);
    expect((await receiver.metrics.signatureRefusals.get()).values).toMatchObject([
      { labels: { source: 'stripe', cause: 'missing_header' }, value: 25 },
    ]);
  });

  test('are told one thing for every failure of the signature', async () => {
    const receiver = await start();
    const { body } = stripeEvent();
    const now = unixNow();
    const headers = ['', 'x', 't=1', `t=${now},v1=00`, stripeSignature(body, SECRET, now - 9_999)];
    const answers = await Promise.all(
      headers.map((header) =>
        send(receiver.port, { body, headers: { 'Stripe-Signature': header, 'X-Request-Id': 'same' } }),
      ),
    );
    expect(new Set(answers.map((answer) => answer.body)).size).toBe(1);
    expect(JSON.parse(answers[0]!.body)).toEqual({
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      code: 'invalid_signature',
      requestId: 'same',
    });
    expect(answers[0]!.headers['content-type']).toBe('application/problem+json');
  });

  test.each(['/Webhooks/stripe', '/webhooks/stripe/', '/webhooks', '/webhooks/stripe/x', '/', '/HEALTHZ'])(
    'for %s are not found',
    async (path) => {
      const receiver = await start();
      const answer = await send(receiver.port, { path, body: 'x' });
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'not_found' });
    },
  );

  test.each(['a b', 'x'.repeat(129), 'a;b', '{}'])('do not have the request ID "%s" echoed', async (given) => {
    const receiver = await start();
    const answer = await send(receiver.port, { body: 'x', headers: { 'X-Request-Id': given } });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('over the rate limit are told when to come again; unsigned ones do not count', async () => {
    const receiver = await start({ source: { rateLimit: { perSecond: 1, burst: 2 } } });
    for (let unsigned = 0; unsigned < 5; unsigned += 1) await send(receiver.port, { body: 'x' });
    const answers = [];
    for (let signed = 0; signed < 3; signed += 1) {
      answers.push(await deliver(receiver.port, SECRET, stripeEvent().body));
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]!.headers['retry-after']).toBe('5');
    expect(JSON.parse(answers[2]!.body)).toMatchObject({ code: 'rate_limited' });
  });
});

describe('health', () => {
  test('tells what is there', async () => {
    const receiver = await start();
    const health = await send(receiver.port, { method: 'GET', path: '/healthz' });
    expect(health).toMatchObject({ status: 200, body: '{"status":"ok"}' });
    const ready = await send(receiver.port, { method: 'GET', path: '/readyz' });
    expect(ready.status).toBe(200);
    expect(JSON.parse(ready.body)).toEqual({ status: 'ready', postgres: 'ok', schema: 'ok', temporal: 'unknown' });
    expect((await send(receiver.port, { method: 'HEAD', path: '/readyz' })).status).toBe(200);
    const post = await send(receiver.port, { path: '/healthz' });
    expect(post).toMatchObject({ status: 405 });
    expect(post.headers.allow).toBe('GET, HEAD');
  });
});

test('sessions of the receiver wait for the disk at every commit', async () => {
  const receiver = await start();
  const { rows } = await receiver.pool.query<{ synchronous_commit: string; statement_timeout: string }>(
    `select current_setting('synchronous_commit') as synchronous_commit,
            current_setting('statement_timeout') as statement_timeout`,
  );
  expect(rows).toEqual([{ synchronous_commit: 'on', statement_timeout: '4500ms' }]);
});

import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { receiverConfig } from '../../src/service/receiver-config.js';
import { configure, type SourceDocuments } from '../support/configured.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { rawPost, send, sendRaw, type Answer } from '../support/http-client.js';
import { startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import { SENDER_ENV, SENDER_SECRETS, SENDER_SOURCES, signAs, type SignedDelivery } from '../support/senders.js';

const OLD_SECRET = 'pdl_ntfset_00_before_the_rotation';

const CLINIC = SENDER_SOURCES.clinic!;
const SIGNATURE = { header: 'X-Signature' };

/** Beside the documented senders, one of each thing that can be said otherwise. */
const SOURCES: SourceDocuments = {
  ...SENDER_SOURCES,
  paddle: { ...SENDER_SOURCES.paddle, secrets: ['${PADDLE_WEBHOOK_SECRET}', '${PADDLE_OLD_SECRET}'] },
  numbered: { ...CLINIC, signature: SIGNATURE, eventId: { body: '/id', type: 'integer' } },
  derived: { ...CLINIC, signature: SIGNATURE, eventId: { derived: ['/order/id', '/status'] } },
  unsigned: { ...CLINIC, signature: SIGNATURE },
  repeating: { ...CLINIC, signature: SIGNATURE, equalBodies: 'normal' },
  millis: {
    ...CLINIC,
    signature: { header: 'X-Signature', signed: '{timestamp}{body}', timestamp: { header: 'X-Time', unit: 'ms' } },
    eventId: { body: '/id' },
  },
  long: {
    ...CLINIC,
    secrets: ['${LONG_SECRET}'],
    secretEncoding: 'base64',
    signature: { header: 'X-Signature', algorithm: 'sha512', encoding: 'base64', prefix: 'hmac ' },
    eventId: { body: '/id' },
  },
  reader: {
    ...CLINIC,
    signature: SIGNATURE,
    eventId: { body: '/id' },
    response: { body: '[accepted]', contentType: 'text/plain' },
  },
};
const LONG_KEY = Buffer.from('a key of some bytes more than needed', 'utf8');
const ENV = { ...SENDER_ENV, PADDLE_OLD_SECRET: OLD_SECRET, LONG_SECRET: LONG_KEY.toString('base64') };

let database: TestDatabase;
let receiver: RunningReceiver;

beforeAll(async () => {
  database = await openDatabase();
  receiver = await startReceiver(database.url, { config: receiverConfig(configure(SOURCES, ENV)) });
});

beforeEach(async () => {
  await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads, oncehook.webhook_redeliveries');
  receiver.lines.length = 0;
  receiver.dispatched.length = 0;
});

afterAll(async () => {
  await receiver.stop();
  await database.drop();
});

async function deliver(delivery: SignedDelivery, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const answer = await send(receiver.port, { ...delivery, headers: { ...delivery.headers, ...headers } });
  return `${answer.status} ${saidIn(answer)}`;
}

function saidIn({ body }: Answer): string {
  const { code, status } = JSON.parse(body) as { readonly code?: string; readonly status: string };
  return code ?? status;
}

/** Signed over the body alone. */
function plain(source: string, body: string, headers: Readonly<Record<string, string>> = {}): SignedDelivery {
  const digest = createHmac('sha256', SENDER_SECRETS.clinic).update(body).digest('hex');
  return { path: `/webhooks/${source}`, headers: { 'X-Signature': digest, ...headers }, body: Buffer.from(body) };
}

async function inbox(): Promise<readonly string[]> {
  const rows = await database.rows<{ says: string }>(
    `select concat_ws(' ', source_scope, event_id, event_type, status, reason) as says
       from oncehook.webhook_inbox order by received_at, event_id`,
  );
  return rows.map(({ says }) => says);
}

async function payloads(): Promise<readonly string[]> {
  const rows = await database.rows<{ text: string }>(
    'select payload::text as text from oncehook.webhook_payloads order by 1',
  );
  return rows.map(({ text }) => text);
}

describe('an ID in the body that is an integer', () => {
  const body = (id: string): string => `{"id":${id},"type":"orders/paid","note":null}`;

  test('keeps its digits over 2^53, in the ID and in the payload', async () => {
    const ids = ['820982911946154508', '820982911946154509', '9007199254740992', '9007199254740993'];
    for (const id of ids) expect(await deliver(plain('numbered', body(id)))).toBe('200 accepted');
    for (const id of ids) expect(await deliver(plain('numbered', body(id)))).toBe('200 duplicate');
    expect(await inbox()).toEqual(ids.map((id) => `hmac:clinic ${id} orders/paid pending`).map(accountOf('numbered')));
    expect(await payloads()).toEqual(ids.map(body).sort());
    expect(receiver.dispatched.map(({ eventId }) => eventId)).toEqual(ids);
  });

  test.each(['1e3', '1.0', '"1"', '-0', 'null', '{}'])('is not %s', async (id) => {
    expect(await deliver(plain('numbered', body(id)))).toBe('400 invalid_event');
    expect(await inbox()).toEqual([]);
  });
});

/** The account of these sources is the source's own name. */
function accountOf(source: string): (line: string) => string {
  return (line) => line.replace('hmac:clinic', `hmac:${source}`);
}

describe('a derived ID', () => {
  const body = (order: unknown, status: unknown, note = ''): string =>
    JSON.stringify({ type: 'order', order: { id: order }, status, note });

  test('is one for the same fields, and another for others', async () => {
    expect(await deliver(plain('derived', body('o_1', 'paid')))).toBe('200 accepted');
    expect(await deliver(plain('derived', body('o_1', 'paid')))).toBe('200 duplicate');
    expect(await deliver(plain('derived', body('o_1', 'shipped')))).toBe('200 accepted');
    expect(await deliver(plain('derived', body(1, 'paid')))).toBe('200 accepted');
    expect(await deliver(plain('derived', body('1', 'paid')))).toBe('200 accepted');
    expect(await inbox()).toHaveLength(4);
    expect((await inbox())[0]).toMatch(/^hmac:derived derived:[0-9a-f]{64} order pending$/);
    expect(receiver.lines.filter(({ otherBytes }) => otherBytes === true)).toEqual([]);
  });

  test('met again with another body is a duplicate, and that it was another is counted and told', async () => {
    const conflicts = async (): Promise<number> =>
      (await receiver.metrics.derivedIdConflicts.get()).values.find(({ labels }) => labels.source === 'derived')
        ?.value ?? 0;
    const before = await conflicts();
    await deliver(plain('derived', body('o_1', 'paid', 'the first')));
    expect(await deliver(plain('derived', body('o_1', 'paid', 'another')))).toBe('200 duplicate');
    expect(await payloads()).toEqual([body('o_1', 'paid', 'the first')]);
    expect(await conflicts()).toBe(before + 1);
    expect(receiver.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { msg: 'delivery', outcome: 'duplicate', otherBytes: true, source: 'derived' },
    ]);
    expect(receiver.dispatched).toHaveLength(1);
  });

  test.each([
    ['is missing', '{"type":"order","status":"paid"}'],
    ['is null', body(null, 'paid')],
    ['is a list', body([1], 'paid')],
    ['is an object', body('o_1', {})],
  ])('cannot be made when a field %s', async (_name, text) => {
    expect(await deliver(plain('derived', text))).toBe('400 invalid_event');
    expect(await inbox()).toEqual([]);
  });
});

describe('a challenge of Slack', () => {
  const QUESTION =
    '{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}';

  test('is answered with its text, and nothing is stored', async () => {
    const answer = await send(receiver.port, signAs('slack', { body: QUESTION }));
    expect(answer).toMatchObject({ status: 200, body: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P' });
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
    expect(await inbox()).toEqual([]);
    expect(receiver.lines.filter(({ msg }) => msg === 'delivery')).toMatchObject([{ outcome: 'challenge' }]);
    expect(JSON.stringify(receiver.lines)).not.toContain('3eZbrw1a');
  });

  test('that nobody signed is not', async () => {
    const { headers, ...delivery } = signAs('slack', { body: QUESTION, secret: 'somebody else’s secret' });
    expect(await deliver({ headers, ...delivery })).toBe('401 invalid_signature');
    expect(await deliver(signAs('slack', { body: QUESTION, at: 1_700_000_000 }))).toBe('401 invalid_signature');
  });

  test.each(['{"type":"url_verification"}', '{"type":"url_verification","challenge":5}'])(
    'without a text to answer is no event: %s',
    async (body) => {
      expect(await deliver(signAs('slack', { body }))).toBe('400 invalid_event');
    },
  );

  test('does not stand in the way of events', async () => {
    const body = '{"type":"event_callback","event_id":"Ev08MFMKH6","event":{"type":"app_mention"},"challenge":"x"}';
    expect(await deliver(signAs('slack', { body }))).toBe('200 accepted');
    expect(await deliver(signAs('slack', { body }), { 'X-Slack-Retry-Num': '1' })).toBe('200 duplicate');
    expect(await inbox()).toEqual(['hmac:slack Ev08MFMKH6 app_mention pending']);
  });
});

describe('time and signature in one header (Paddle)', () => {
  const body = '{"event_id":"evt_1","event_type":"transaction.completed"}';
  const now = (): number => Math.floor(Date.now() / 1000);
  const h1 = (at: number, secret: string = SENDER_SECRETS.paddle): string =>
    createHmac('sha256', secret).update(`${at}:${body}`).digest('hex');
  const signed = (header: string): SignedDelivery => ({
    path: '/webhooks/paddle',
    headers: { 'Paddle-Signature': header },
    body: Buffer.from(body),
  });

  test.each([
    ['as Paddle writes it', (at: number) => `ts=${at};h1=${h1(at)}`],
    ['in the other order', (at: number) => `h1=${h1(at)};ts=${at}`],
    ['beside a part that nobody knows', (at: number) => `ts=${at};h2=x;h1=${h1(at)}`],
    ['while the secret is rolled, the new one first', (at: number) => `ts=${at};h1=${h1(at)};h1=${h1(at, OLD_SECRET)}`],
    ['while the secret is rolled, garbage first', (at: number) => `ts=${at};h1=${'0'.repeat(64)};h1=${h1(at)}`],
    ['by the old secret alone', (at: number) => `ts=${at};h1=${h1(at, OLD_SECRET)}`],
  ])('passes %s', async (_name, header) => {
    expect(await deliver(signed(header(now())))).toBe('200 accepted');
    expect(await inbox()).toEqual(['hmac:paddle evt_1 transaction.completed pending']);
  });

  test('keeps which secret it was', async () => {
    await deliver(signed(`ts=${now()};h1=${h1(now(), OLD_SECRET)}`));
    expect(await database.rows('select secret_position from oncehook.webhook_inbox')).toEqual([{ secret_position: 1 }]);
  });

  test.each([
    ['a time of another', (at: number) => `ts=${at + 1};h1=${h1(at)}`],
    ['two times', (at: number) => `ts=${at};ts=${at};h1=${h1(at)}`],
    ['no time', (at: number) => `h1=${h1(at)}`],
    ['no signature', (at: number) => `ts=${at}`],
    ['the signature under another name', (at: number) => `ts=${at};h2=${h1(at)}`],
    ['another separator', (at: number) => `ts=${at},h1=${h1(at)}`],
    ['a space', (at: number) => `ts=${at}; h1=${h1(at)}`],
    ['upper case', (at: number) => `ts=${at};h1=${h1(at).toUpperCase()}`],
    ['a time six minutes old', (at: number) => `ts=${at - 360};h1=${h1(at - 360)}`],
    ['a time six minutes ahead', (at: number) => `ts=${at + 360};h1=${h1(at + 360)}`],
    ['a time with a fraction', (at: number) => `ts=${at}.0;h1=${h1(at)}`],
    ['17 signatures', (at: number) => `ts=${at};h1=${h1(at)}${`;h1=${'0'.repeat(64)}`.repeat(16)}`],
  ])('does not pass with %s', async (_name, header) => {
    expect(await deliver(signed(header(now())))).toBe('401 invalid_signature');
    expect(await inbox()).toEqual([]);
  });
});

describe('an ID in a header', () => {
  const body = '{"type":"appointment.created","n":1}';

  test('that is signed cannot be changed, nor can the time', async () => {
    const delivery = signAs('clinic', { id: 'c-1', body });
    expect(await deliver(delivery, { 'X-Event-Id': 'c-2' })).toBe('401 invalid_signature');
    expect(await deliver(delivery, { 'X-Timestamp': String(Math.floor(Date.now() / 1000) + 1) })).toBe(
      '401 invalid_signature',
    );
    expect(await deliver(delivery, { 'X-Event-Id': 'c 1' })).toBe('401 invalid_signature');
    expect(await deliver(delivery)).toBe('200 accepted');
    expect(await deliver(delivery)).toBe('200 duplicate');
    expect(await deliver(signAs('clinic', { id: 'c-2', body }))).toBe('200 accepted');
    expect(await inbox()).toEqual([
      'hmac:clinic c-1 appointment.created pending',
      'hmac:clinic c-2 appointment.created pending',
    ]);
  });

  test('that is signed tells two bodies apart by nothing: the second is a duplicate', async () => {
    await deliver(signAs('clinic', { id: 'c-1', body }));
    expect(await deliver(signAs('clinic', { id: 'c-1', body: '{"type":"appointment.created","n":2}' }))).toBe(
      '200 duplicate',
    );
    expect(await payloads()).toEqual([body]);
  });

  test('that is not signed is judged by the bytes', async () => {
    expect(await deliver(plain('unsigned', body, { 'X-Event-Id': 'c-1' }))).toBe('200 accepted');
    expect(await deliver(plain('unsigned', body, { 'X-Event-Id': 'c-2' }))).toBe('200 accepted');
    expect(await inbox()).toEqual([
      'hmac:unsigned c-1 appointment.created pending',
      expect.stringMatching(
        /^hmac:unsigned c-2~[0-9a-f]{32} appointment\.created quarantined suspected_replay$/,
      ) as string,
    ]);
    expect(receiver.dispatched).toHaveLength(1);
  });

  test('that is not signed counts alone where equal bodies are normal', async () => {
    expect(await deliver(plain('repeating', body, { 'X-Event-Id': 'c-1' }))).toBe('200 accepted');
    expect(await deliver(plain('repeating', body, { 'X-Event-Id': 'c-2' }))).toBe('200 accepted');
    expect(await deliver(plain('repeating', body, { 'X-Event-Id': 'c-2' }))).toBe('200 duplicate');
    expect(receiver.dispatched.map(({ eventId }) => eventId)).toEqual(['c-1', 'c-2']);
  });

  test.each([
    ['missing', {}],
    ['empty', { 'X-Event-Id': '' }],
    ['of two words', { 'X-Event-Id': 'c 1' }],
  ])('that is not signed and %s is no event', async (_name, headers) => {
    expect(await deliver(plain('unsigned', body, headers))).toBe('400 invalid_event');
  });
});

describe('other ways to sign', () => {
  const body = '{"id":"m-1","type":"t"}';

  test('the time in milliseconds, and nothing between it and the body', async () => {
    const signed = (at: number): SignedDelivery => ({
      path: '/webhooks/millis',
      headers: {
        'X-Time': String(at),
        'X-Signature': createHmac('sha256', SENDER_SECRETS.clinic).update(`${at}${body}`).digest('hex'),
      },
      body: Buffer.from(body),
    });
    expect(await deliver(signed(Date.now()))).toBe('200 accepted');
    expect(await deliver(signed(Date.now() - 290_000))).toBe('200 duplicate');
    expect(await deliver(signed(Date.now() - 302_000))).toBe('401 invalid_signature');
    expect(await deliver(signed(Date.now() + 302_000))).toBe('401 invalid_signature');
    expect(await deliver(signed(Math.floor(Date.now() / 1000)))).toBe('401 invalid_signature');
    expect(receiver.lines.find(({ cause }) => cause === 'timestamp_out_of_tolerance')).toMatchObject({
      skewSeconds: expect.closeTo(-302, -1) as number,
    });
  });

  test('SHA-512, base64, a prefix, and a secret in base64', async () => {
    const digest = createHmac('sha512', LONG_KEY).update(body).digest();
    const signed = (signature: string): SignedDelivery => ({
      path: '/webhooks/long',
      headers: { 'X-Signature': signature },
      body: Buffer.from(body),
    });
    expect(await deliver(signed(`hmac ${digest.toString('base64')}`))).toBe('200 accepted');
    for (const wrong of [
      digest.toString('base64'),
      `hmac ${digest.toString('hex')}`,
      `hmac ${digest.toString('base64url')}`,
      `HMAC ${digest.toString('base64')}`,
      `hmac ${digest.subarray(0, 32).toString('base64')}`,
      `hmac ${createHmac('sha256', LONG_KEY).update(body).digest('base64')}`,
    ]) {
      expect(await deliver(signed(wrong))).toBe('401 invalid_signature');
    }
  });
});

test('a sender that reads the answer gets its own for what is stored, and ours for what is refused', async () => {
  const delivery = plain('reader', '{"id":"r-1","type":"t"}');
  for (let time = 0; time < 2; time += 1) {
    const answer = await send(receiver.port, delivery);
    expect(answer).toMatchObject({ status: 200, body: '[accepted]' });
    expect(answer.headers['content-type']).toBe('text/plain');
  }
  expect(await inbox()).toEqual(['hmac:reader r-1 t pending']);
  const refused = await send(receiver.port, { ...delivery, body: '{"id":"r-2","type":"t"}' });
  expect(refused.headers['content-type']).toBe('application/problem+json');
  expect(saidIn(refused)).toBe('invalid_signature');
});

describe('what made a signature fail', () => {
  const event = '{"event_id":"evt_1","event_type":"t"}';
  const paddle = (): SignedDelivery => signAs('paddle', { body: event });

  /** Every byte of the answer, headers included, but for what is each request's own. */
  async function bytesOfAnswer({ path, headers, body }: SignedDelivery): Promise<string> {
    const { text } = await sendRaw(receiver.port, [{ bytes: rawPost(path, Object.entries(headers), body) }]);
    const [, requestId = ''] = /X-Request-Id: (\S+)/i.exec(text) ?? [];
    expect(requestId).not.toBe('');
    return text.replaceAll(requestId, '*').replace(/Date: [^\r]*/, 'Date: *');
  }

  async function refusals(cause: string): Promise<number> {
    const { values } = await receiver.metrics.signatureRefusals.get();
    return values.filter(({ labels }) => labels.cause === cause).reduce((sum, { value }) => sum + value, 0);
  }

  test('is told to the operator alone: the caller gets the same bytes whatever it was', async () => {
    const { path, headers, body } = paddle();
    const at = Math.floor(Date.now() / 1000);
    const byShopify = createHmac('sha256', SENDER_SECRETS.shopify).update(body).digest();
    const attempts: Readonly<Record<string, SignedDelivery>> = {
      missing_header: { path, headers: {}, body },
      malformed_header: { path, headers: { 'Paddle-Signature': 'ts=x;h1=x' }, body },
      no_supported_signature: { path, headers: { 'Paddle-Signature': `ts=${at}` }, body },
      no_matching_secret: { path, headers: { 'Paddle-Signature': `ts=${at};h1=${'0'.repeat(64)}` }, body },
      timestamp_out_of_tolerance: signAs('paddle', { body: event, at: at - 400 }),
      body_altered: { path, headers, body: Buffer.from(`${event}\n`) },
      // Signed over the body alone with Shopify's secret, and sent to where the clinic's is expected.
      secret_of_another_source: {
        path: '/webhooks/unsigned',
        headers: { 'X-Signature': '0'.repeat(64), 'X-Shopify-Hmac-SHA256': byShopify.toString('base64') },
        body,
      },
    };
    const answers = new Set<string>();
    for (const [cause, attempt] of Object.entries(attempts)) {
      const before = await refusals(cause);
      answers.add(await bytesOfAnswer(attempt));
      expect(await refusals(cause), cause).toBe(before + 1);
    }
    expect([...answers]).toHaveLength(1);
    expect([...answers][0]).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);

    const told = receiver.lines.filter(({ msg }) => msg === 'delivery');
    expect(told.map(({ cause }) => cause)).toEqual(Object.keys(attempts));
    expect(told.find(({ cause }) => cause === 'timestamp_out_of_tolerance')).toMatchObject({
      skewSeconds: expect.closeTo(-400, -1) as number,
    });
    expect(told.find(({ cause }) => cause === 'body_altered')).toMatchObject({ alteration: 'line_break_added' });
    expect(told.find(({ cause }) => cause === 'secret_of_another_source')).toMatchObject({ signedFor: 'shopify' });
    expect(await inbox()).toEqual([]);
  });

  test('is not looked for at any price: brackets by the kilobyte are refused as soon as anything', async () => {
    const { path, headers } = paddle();
    for (const text of ['['.repeat(256 * 1024), '['.repeat(20_000), ','.repeat(256 * 1024)]) {
      const answer = await send(receiver.port, { path, headers, body: text });
      expect(answer.status).toBe(401);
      expect(answer.ms).toBeLessThan(1_000);
    }
  });
});

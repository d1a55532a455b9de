import { createHmac } from 'node:crypto';
import { parse } from 'lossless-json';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applied, defineHandlers, operationKey, quarantine, type Handler } from '../../src/index.js';
import { send, sendRaw, type RawStep } from '../support/http-client.js';
import { liveBytes } from '../support/heap.js';
import { paymentEvent, registerOrder, token, type PaymentEvent } from '../support/payment-event.js';
import { SENDER_ENV, SENDER_SECRETS, SENDER_SOURCES, signAs, type SignedDelivery } from '../support/senders.js';
import { stripeDigest, unixNow } from '../support/stripe-signing.js';
import { githubReplayScript } from '../support/vectors.js';
import { startWholePath, type SettledEvent, type WholePath } from '../support/whole-path.js';

/*
 * Faults that others reported of receivers of webhooks, each by its number in our collection and the address of the
 * report, driven from the bytes on the wire to the order and the mail. Orders are of 42.00 USD.
 */

const OTHER_SECRET = 'whsec_the_other_secret_in_force';
const OTHER_STANDARD_SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** For the sender of C32: its order is named by 19 digits. */
const shop: Handler = async (event, tx) => {
  const { order } = parse(event.payloadText) as { readonly order: { toString(): string } };
  const id = order.toString();
  const { rowCount } = await tx.query('update numbered_orders set payments = payments + 1 where id = $1', [id]);
  if (rowCount !== 1) return quarantine('unknown_order');
  const mail = {
    kind: 'email',
    key: operationKey('email', 'numbered', event.tenant, id),
    params: { to: 'a@b.example' },
  };
  return applied({ operations: [mail] });
};

/** For the replay script: acts on whatever type it is told. */
const act: Handler = async (event, tx) => {
  await tx.query('insert into acts (type) values ($1)', [event.type]);
  return applied();
};

const { stripe } = SENDER_SOURCES;
const SOURCES = {
  ...SENDER_SOURCES,
  stripe: { ...stripe, secrets: ['${STRIPE_WEBHOOK_SECRET}', '${OTHER_SECRET}'], handlers: 'orders' },
  live: { ...stripe, account: 'acct_live', mode: 'live', handlers: 'orders' },
  connect: { ...stripe, account: 'acct_platform', mode: 'live', accounts: { acct_9: 'default' }, handlers: 'orders' },
  shared: { ...stripe, account: 'acct_shared', owns: { metadata: { app: 'shop' } }, handlers: 'orders' },
  svix: { ...SENDER_SOURCES.svix, secrets: ['${SVIX_SIGNING_SECRET}', '${OTHER_STANDARD_SECRET}'] },
  'app-a': { ...SENDER_SOURCES.github, secrets: ['${APP_A_SECRET}'] },
  'app-b': { ...SENDER_SOURCES.github, secrets: ['${APP_B_SECRET}'] },
  replayed: { ...SENDER_SOURCES.github, secrets: ['${REPLAY_SECRET}'], handlers: 'acting' },
  numbered: {
    ...SENDER_SOURCES.clinic,
    signature: { header: 'X-Signature' },
    eventId: { body: '/id', type: 'integer' },
    handlers: 'shop',
  },
  named: { ...SENDER_SOURCES.clinic, signature: { header: 'X-Signature' }, eventId: { body: '/id' } },
};

let path: WholePath;

beforeAll(async () => {
  path = await startWholePath({
    sources: SOURCES,
    env: {
      ...SENDER_ENV,
      OTHER_SECRET,
      OTHER_STANDARD_SECRET,
      REPLAY_SECRET: githubReplayScript().secret,
      APP_A_SECRET: 'the secret of the first app on github',
      APP_B_SECRET: 'the secret of the second app on github',
    },
    handlerSets: new Map([
      ['shop', defineHandlers({ 'order.paid': shop })],
      ['acting', defineHandlers({ 'issues.opened': act, 'issues.closed': act, push: act, 'push.opened': act })],
    ]),
  });
  await path.database.rows('create table acts (type text)');
  await path.database.rows('create table numbered_orders (id text primary key, payments integer not null default 0)');
});

afterAll(() => path.stop());

const SCOPE = 'stripe:acct_1:test';
const port = (): number => path.receivers[0].port;

async function deliver(delivery: SignedDelivery, to = port()): Promise<number> {
  return (await send(to, delivery)).status;
}

/** Signed over the body alone. */
function plain(source: string, body: string): SignedDelivery {
  const digest = createHmac('sha256', SENDER_SECRETS.clinic).update(body).digest('hex');
  return { path: `/webhooks/${source}`, headers: { 'X-Signature': digest }, body: Buffer.from(body) };
}

/** Fresh order and payment; what a case wants otherwise, it says. */
async function payment(spoil?: (event: PaymentEvent) => void): Promise<{ order: string; event: PaymentEvent }> {
  const order = await registerOrder(path.database);
  return { order, event: paymentEvent(order, spoil) };
}

async function stored(eventId: string): Promise<number> {
  return (await path.database.rows('select from oncehook.webhook_inbox where event_id = $1', [eventId])).length;
}

/** The order was paid by this payment, once, its one mail went out, and no money moved back. */
async function expectPaidOnce(order: string): Promise<void> {
  expect(
    await path.database.rows('select status, captured_minor, refunded_minor from oncehook.orders where id = $1', [
      order,
    ]),
  ).toEqual([{ status: 'paid', captured_minor: '4200', refunded_minor: '0' }]);
  expect(
    await path.database.rows('select kind, status from oncehook.operations where params->>$1 = $2', ['orderId', order]),
  ).toEqual([{ kind: 'email', status: 'confirmed' }]);
  expect(path.mails.filter((key) => key.endsWith(`:${order}`))).toHaveLength(1);
}

async function expectUntouched(order: string): Promise<void> {
  expect(await path.database.rows('select status from oncehook.orders where id = $1', [order])).toEqual([
    { status: 'awaiting_payment' },
  ]);
  expect(
    await path.database.rows('select from oncehook.operations where params->>$1 = $2', ['orderId', order]),
  ).toEqual([]);
}

async function expectApplied(eventId: string): Promise<void> {
  expect(await path.settled(eventId)).toMatchObject([
    { scope: SCOPE, status: 'done', outcome: 'applied', reason: null },
  ]);
}

describe('C01, octokit/webhooks.js#1155: a body that is turned into text before its signature is checked', () => {
  test('emoji, escapes and white space count as they were sent, cut anywhere', async () => {
    const { order, event } = await payment((spoiled) => {
      spoiled.data.object.metadata.name = 'Zoë 😀';
    });
    const text = `${JSON.stringify(event, null, 2).replace('Zoë', 'Zo\\u00eb').replace('"name"', '"path": "a\\/b", "é": 1, "name"')}\n`;
    const body = Buffer.from(text);
    const { headers } = signAs('stripe', { body });
    const emoji = body.indexOf(Buffer.from('😀')) + 2;
    const chunk = (bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
    const steps = (signature: string): readonly RawStep[] => [
      {
        bytes: `POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nStripe-Signature: ${signature}\r\n\r\n`,
      },
      { bytes: chunk(body.subarray(0, emoji)), waitMs: 50 },
      { bytes: Buffer.concat([chunk(body.subarray(emoji)), Buffer.from('0\r\n\r\n')]) },
    ];
    const restringified = signAs('stripe', { body: JSON.stringify(JSON.parse(text)) }).headers['Stripe-Signature']!;
    expect((await sendRaw(port(), steps(restringified))).statuses).toEqual([401]);
    expect(await stored(event.id)).toBe(0);

    expect((await sendRaw(port(), steps(headers['Stripe-Signature']!))).statuses).toEqual([200]);
    await expectApplied(event.id);
    expect(await path.settled(event.id)).toMatchObject([{ text }]);
    await expectPaidOnce(order);
  });
});

describe('C02, Shopify/shopify-app-js#233: a body parser that refuses large genuine deliveries', () => {
  const CAP = 1024 * 1024;

  test.each([
    ['300 kB of line items', 300_000],
    ['just under the cap', CAP - 1],
  ])('%s are taken and acted on', async (_name, size) => {
    const { order, event } = await payment();
    const bare = JSON.stringify({ ...event, lines: '' });
    const body = JSON.stringify({ ...event, lines: 'x'.repeat(size - Buffer.byteLength(bare)) });
    expect(Buffer.byteLength(body)).toBe(size);
    expect(await deliver(signAs('stripe', { body }))).toBe(200);
    await expectApplied(event.id);
    await expectPaidOnce(order);
  });

  test('an unsigned one over the cap is refused while it is still being sent, and fills no memory', async () => {
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const head = 'POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    const before = liveBytes();
    // 64 MB, if anybody read it all, over half a minute.
    const slowly = Array.from({ length: 1_000 }, () => ({ bytes: chunk, waitMs: 30 }));
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => sendRaw(port(), [{ bytes: head }, ...slowly], { patienceMs: 40_000 })),
    );
    for (const { statuses, ms } of answers) {
      expect(statuses).toEqual([413]);
      expect(ms).toBeLessThan(8_000);
    }
    expect(liveBytes() - before).toBeLessThan(16 * CAP);
    expect((await path.receivers[0].metrics.bodyBytesInMemory.get()).values).toMatchObject([{ value: 0 }]);
  }, 60_000);
});

describe('C04, integrallis/stripe_event#98: only one secret where two are in force', () => {
  const GONE = 'whsec_a_secret_no_longer_in_force';
  const variants: readonly [name: string, signatures: readonly (readonly [scheme: string, secret: string])[], is: boolean][] = [
    ['the first and the second', [['v1', 'first'], ['v1', 'second']], true],
    ['the second and the first', [['v1', 'second'], ['v1', 'first']], true],
    ['garbage and the second', [['v1', GONE], ['v1', 'second']], true],
    ['the second alone', [['v1', 'second']], true],
    ['the right value under another scheme, and garbage', [['v0', 'first'], ['v1', GONE]], false],
    ['one that is no longer configured', [['v1', GONE]], false],
  ]; // prettier-ignore

  test.each(variants)('Stripe: %s', async (_name, signatures, isTaken) => {
    const { order, event } = await payment();
    const body = JSON.stringify(event);
    const secrets: Record<string, string> = { first: SENDER_SECRETS.stripe, second: OTHER_SECRET };
    const at = unixNow();
    const elements = signatures.map(
      ([scheme, secret]) => `${scheme}=${stripeDigest(body, secrets[secret] ?? secret, at)}`,
    );
    const headers = { 'Stripe-Signature': [`t=${at}`, ...elements].join(',') };
    expect(await deliver({ path: '/webhooks/stripe', headers, body: Buffer.from(body) })).toBe(isTaken ? 200 : 401);
    if (!isTaken) {
      expect(await stored(event.id)).toBe(0);
      await expectUntouched(order);
      return;
    }
    await expectApplied(event.id);
    await expectPaidOnce(order);
  });

  test.each(variants)('Standard Webhooks: %s', async (_name, signatures, isTaken) => {
    const id = `msg_${token()}`;
    const secrets: Record<string, string> = { first: SENDER_SECRETS.svix, second: OTHER_STANDARD_SECRET };
    const body = JSON.stringify({ type: 'user.created' });
    const at = unixNow();
    const of = (secret: string): SignedDelivery => signAs('svix', { id, body, at, secret });
    const entries = signatures.map(([scheme, secret]) =>
      of(secrets[secret] ?? `whsec_${Buffer.from(secret).toString('base64')}`).headers['svix-signature']!.replace(
        'v1',
        scheme,
      ),
    );
    const delivery = of(SENDER_SECRETS.svix);
    const headers = { ...delivery.headers, 'svix-signature': entries.join(' ') };
    expect(await deliver({ ...delivery, headers })).toBe(isTaken ? 200 : 401);
    expect(await stored(id)).toBe(isTaken ? 1 : 0);
  });
});

// That sweeper and replay do not look at the time again is in outage-stale-signature.test.ts.
describe('C05, stripe/stripe-dotnet#1183: a time that is checked on one side only', () => {
  const shifts: readonly [name: string, seconds: number, is: boolean][] = [
    ['4 minutes ago', -240, true],
    ['in 4 minutes', 240, true],
    ['an hour ago', -3_600, false],
    ['in an hour', 3_600, false],
  ];

  test.each(shifts)('Stripe: %s', async (_name, seconds, isTaken) => {
    const { order, event } = await payment();
    const delivery = signAs('stripe', { body: JSON.stringify(event), at: unixNow() + seconds });
    expect(await deliver(delivery)).toBe(isTaken ? 200 : 401);
    if (!isTaken) {
      await expectUntouched(order);
      return;
    }
    await expectApplied(event.id);
    await expectPaidOnce(order);
  });

  test.each(shifts)('Standard Webhooks: %s', async (_name, seconds, isTaken) => {
    const id = `msg_${token()}`;
    const delivery = signAs('svix', { id, body: '{"type":"user.created"}', at: unixNow() + seconds });
    expect(await deliver(delivery)).toBe(isTaken ? 200 : 401);
    expect(await stored(id)).toBe(isTaken ? 1 : 0);
  });

  test.each([
    ['missing', (digest: string) => `v1=${digest}`],
    ['abc', (digest: string) => `t=abc,v1=${digest}`],
    ['12e3', (digest: string) => `t=12e3,v1=${digest}`],
    ['given twice', (digest: string) => `t=${unixNow()},t=${unixNow()},v1=${digest}`],
  ])('Stripe: %s', async (_name, headerOf) => {
    const { event } = await payment();
    const body = JSON.stringify(event);
    const headers = { 'Stripe-Signature': headerOf(stripeDigest(body, SENDER_SECRETS.stripe, unixNow())) };
    expect(await deliver({ path: '/webhooks/stripe', headers, body: Buffer.from(body) })).toBe(401);
    expect(await stored(event.id)).toBe(0);
  });

  test.each(['', 'abc', '12e3', '-1', '1614265330.5'])('Standard Webhooks: %s', async (time) => {
    const id = `msg_${token()}`;
    const delivery = signAs('svix', { id, body: '{"type":"user.created"}' });
    expect(await deliver({ ...delivery, headers: { ...delivery.headers, 'svix-timestamp': time } })).toBe(401);
    expect(await stored(id)).toBe(0);
  });
});

describe('C06, github/docs#32822: one delivery ID for the hooks of two apps', () => {
  test('they are two events with a run each, and the redelivery adds none', async () => {
    const guid = token();
    const of = (app: 'a' | 'b', body: string): SignedDelivery => ({
      ...signAs('github', {
        id: guid,
        type: 'issues',
        body,
        secret: `the secret of the ${app === 'a' ? 'first' : 'second'} app on github`,
      }),
      path: `/webhooks/app-${app}`,
    });
    const first = of('a', '{"action":"opened","installation":{"id":1}}');
    expect(await deliver(first)).toBe(200);
    expect(await deliver(of('b', '{"action":"opened","installation":{"id":2}}'))).toBe(200);
    expect(await deliver(first)).toBe(200);
    const done = { status: 'done', outcome: 'ignored' };
    expect(await path.settled(guid)).toMatchObject([
      { ...done, scope: 'github:app-a' },
      { ...done, scope: 'github:app-b' },
    ]);
    expect(await path.runs('github:app-a', guid)).toBe(1);
    expect(await path.runs('github:app-b', guid)).toBe(1);
  });
});

// To two processes it is in outage-processes.test.ts.
describe('C08, Devlaner/devlane#355: two copies at once that both find nothing and both act', () => {
  test('of twenty to two receivers one is the event', async () => {
    const { order, event } = await payment();
    const delivery = signAs('stripe', { body: JSON.stringify(event) });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => send(path.receivers[index % 2 === 0 ? 0 : 1].port, delivery)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(answers.filter(({ body }) => body === '{"status":"accepted"}')).toHaveLength(1);
    await expectApplied(event.id);
    await expectPaidOnce(order);
    expect(await path.runs(SCOPE, event.id)).toBe(1);
  });
});

describe('C24, pay-rails/pay#999: test events on an endpoint for live ones', () => {
  test.each([
    ['live', 'acct_live', { status: 'quarantined', outcome: null, reason: 'mode_mismatch' }],
    // A live Connect endpoint is sent them by design, so nobody has to look.
    ['connect', 'acct_9', { status: 'done', outcome: 'ignored', reason: 'mode_mismatch' }],
  ] as const)(
    'source %s: the test event touches nothing, the live one of the same ID pays',
    async (source, account, end) => {
      const { order, event } = await payment((spoiled) => {
        if (source === 'connect') spoiled.account = account;
        spoiled.livemode = false;
      });
      const to = (body: PaymentEvent): SignedDelivery => ({
        ...signAs('stripe', { body: JSON.stringify(body) }),
        path: `/webhooks/${source}`,
      });
      expect(await deliver(to(event))).toBe(200);
      expect(await path.settled(event.id)).toMatchObject([{ scope: `stripe:${account}:test`, ...end }]);
      await expectUntouched(order);

      expect(await deliver(to({ ...event, livemode: true }))).toBe(200);
      expect(await path.settled(event.id)).toMatchObject([
        { scope: `stripe:${account}:live`, status: 'done', outcome: 'applied' },
        { scope: `stripe:${account}:test`, ...end },
      ]);
      await expectPaidOnce(order);
    },
  );
});

describe('C28, solspace/craft-freeform#2426: events that are not for us, answered as failures', () => {
  test.each<[string, (event: PaymentEvent) => void, Partial<SettledEvent>]>([
    [
      'no order reference',
      (event) => (event.data.object.metadata = {}),
      { status: 'quarantined', reason: 'unknown_order' },
    ],
    [
      'a type that nobody handles',
      (event) => (event.type = 'customer.updated'),
      { status: 'done', outcome: 'ignored' },
    ],
    [
      'a reference that is an object',
      (event) => (event.data.object.metadata.order_id = { id: 'o' }),
      { status: 'quarantined', reason: 'malformed_order_id' },
    ],
    [
      'a reference of 500 characters',
      (event) => (event.data.object.metadata.order_id = 'o'.repeat(500)),
      { status: 'quarantined', reason: 'malformed_order_id' },
    ],
  ])('%s is answered 200 and changes nothing', async (_name, spoil, end) => {
    const { order, event } = await payment(spoil);
    expect(await deliver(signAs('stripe', { body: JSON.stringify(event) }))).toBe(200);
    expect(await path.settled(event.id)).toMatchObject([end]);
    await expectUntouched(order);
    expect(await path.database.rows('select from oncehook.operations where event_id = $1', [event.id])).toEqual([]);
  });

  test('of another application in a shared account, done and ignored where ours are marked', async () => {
    const { order, event } = await payment();
    const delivery = signAs('stripe', { body: JSON.stringify(event) });
    expect(await deliver({ ...delivery, path: '/webhooks/shared' })).toBe(200);
    expect(await path.settled(event.id)).toMatchObject([{ status: 'done', outcome: 'ignored', reason: 'foreign' }]);
    await expectUntouched(order);
  });
});

describe('C30, hasura/graphql-engine#6782: an escape that the column refuses', () => {
  test.each<[string, (event: PaymentEvent) => void]>([
    ['in a metadata value', (event) => (event.data.object.metadata.note = 'x\u0000y')],
    ['in a metadata key', (event) => (event.data.object.metadata['a\u0000b'] = 'x')],
    ['in a name', (event) => (event.data.object.customer_name = 'Zo\u0000e')],
    ['as its six characters', (event) => (event.data.object.metadata.note = '\\u0000')],
  ])('%s is kept, and the order is paid', async (_name, spoil) => {
    const { order, event } = await payment(spoil);
    const body = JSON.stringify(event);
    expect(body).toContain('\\u0000');
    expect(await deliver(signAs('stripe', { body }))).toBe(200);
    await expectApplied(event.id);
    expect(await path.settled(event.id)).toMatchObject([{ text: body }]);
    await expectPaidOnce(order);
  });

  test('in the event ID it is 400', async () => {
    expect(await deliver(plain('named', '{"id":"evt\\u0000_1","type":"t"}'))).toBe(400);
    expect(await path.database.rows(`select from oncehook.webhook_inbox where source = 'named'`)).toEqual([]);
  });
});

describe('C32, christophergregory/shopify-node-api#42: IDs of 64 bits, rounded', () => {
  test('neighbours over 2^53 are two events, each for the order that it names', async () => {
    const events = [
      { id: '9007199254740992', order: '1234567890123456788' },
      { id: '9007199254740993', order: '1234567890123456789' },
    ];
    for (const { order } of events) await path.database.rows('insert into numbered_orders (id) values ($1)', [order]);
    const bodyOf = ({ id, order }: { id: string; order: string }): string =>
      `{"id":${id},"type":"order.paid","order":${order}}`;
    for (const event of [...events, ...events]) expect(await deliver(plain('numbered', bodyOf(event)))).toBe(200);
    for (const event of events) {
      expect(await path.settled(event.id)).toEqual([
        { scope: 'hmac:numbered', status: 'done', outcome: 'applied', reason: null, text: bodyOf(event) },
      ]);
      expect(await path.database.rows('select payments from numbered_orders where id = $1', [event.order])).toEqual([
        { payments: 1 },
      ]);
      expect(path.mails.filter((key) => key === `email:numbered:default:${event.order}`)).toHaveLength(1);
    }
  });

  test('an exponent is 400, and 1 is not "1"', async () => {
    const answers: Record<string, number> = {};
    for (const id of ['1e3', '1.5', '1', '"1"']) {
      answers[id] = await deliver(plain('numbered', `{"id":${id},"type":"order.seen"}`));
    }
    expect(answers).toEqual({ '1e3': 400, '1.5': 400, '1': 200, '"1"': 400 });
    expect(await path.settled('1')).toHaveLength(1);
  });
});

describe('the replay script on headers that nobody signs', () => {
  test('has one effect: none under another type, none of the conflict, and none is lost', async () => {
    const script = githubReplayScript();
    for (const { headers, body = script.body, signature = script.signature } of script.steps) {
      const signed = { ...headers, 'X-Hub-Signature-256': signature };
      expect(await deliver({ path: '/webhooks/replayed', headers: signed, body: Buffer.from(body) })).toBe(200);
    }
    const id = script.steps[0]!.headers['X-GitHub-Delivery']!;
    expect(await path.settled(id)).toMatchObject([{ status: 'done', outcome: 'applied', text: script.body }]);
    expect(await path.runs('github:replayed', id)).toBe(1);
    expect(await path.database.rows('select type from acts')).toEqual([{ type: 'issues.opened' }]);
    const aside = await path.database.rows(
      `select event_type, status, reason from oncehook.webhook_inbox
        where source = 'replayed' and event_id <> $1 order by reason, event_type`,
      [id],
    );
    expect(aside).toEqual([
      { event_type: 'issues.closed', status: 'quarantined', reason: 'id_conflict' },
      { event_type: 'issues.opened', status: 'quarantined', reason: 'suspected_replay' },
      { event_type: 'push.opened', status: 'quarantined', reason: 'suspected_replay' },
    ]);
    expect(path.receivers[0].dispatched.filter(({ scope }) => scope === 'github:replayed')).toHaveLength(1);
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../src/dev/ports.js';
import { LOCALSTRIPE, startLocalstripe } from '../support/localstripe.js';
import { token } from '../support/payment-event.js';
import { startStandIn } from '../support/stripe-stand-in.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

/**
 * One list of what oncehook relies on at Stripe, asked of our stand-in and of three programs by others. `stripe` is what
 * Stripe's documentation says (docs.stripe.com/api: idempotent requests, errors, refunds, pagination); a peer that
 * says something else is listed with it. So the stand-in is held to Stripe by more than our own word, and what a peer
 * cannot witness is written down.
 */
const PEERS = ['stand-in', 'localstripe', 'stripe-mock', 'stripe-stateful-mock'] as const;
type PeerName = (typeof PEERS)[number];

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly replayed: boolean;
}

interface Peer {
  readonly post: (path: string, form: Readonly<Record<string, string>>, key?: string) => Promise<Answer>;
  readonly get: (path: string, authorized?: boolean) => Promise<Answer>;
  /** A payment of 1,000 that has been made: its ID, as refunds name it. */
  readonly pay: () => Promise<Readonly<Record<string, string>>>;
  /** What makes a payment here, for questions about keys. */
  readonly create: (amount: number, key: string) => Promise<Answer>;
  readonly stop: () => Promise<void>;
}

interface Question {
  readonly name: string;
  readonly ask: (peer: Peer) => Promise<string>;
  readonly stripe: string;
  /** What peers say where it is not that. */
  readonly but?: Readonly<Partial<Record<PeerName, string>>>;
}

const QUESTIONS: readonly Question[] = [
  {
    name: 'the same request under the same key',
    ask: async (peer) => {
      const key = token();
      const first = await peer.create(1_000, key);
      const second = await peer.create(1_000, key);
      return first.body.id === second.body.id
        ? `the same object${second.replayed ? ', replayed' : ''}`
        : 'another object';
    },
    stripe: 'the same object, replayed',
    but: { localstripe: 'another object', 'stripe-mock': 'another object' },
  },
  {
    name: 'another request under the same key',
    ask: async (peer) => {
      const key = token();
      await peer.create(1_000, key);
      return said(await peer.create(2_000, key));
    },
    stripe: '400 idempotency_error',
    but: { localstripe: '200', 'stripe-mock': '200' },
  },
  {
    name: 'a refund under the same key twice',
    ask: async (peer) => {
      const payment = await peer.pay();
      const key = token();
      const refund = { ...payment, amount: '400', 'metadata[operation_id]': key };
      await peer.post('/v1/refunds', refund, key);
      await peer.post('/v1/refunds', refund, key);
      return `${(await refundsOf(peer, payment)).length} made`;
    },
    stripe: '1 made',
    but: { localstripe: '2 made' },
  },
  {
    name: 'a refund as our operation asks for it',
    ask: async (peer) => {
      const refund = {
        ...(await peer.pay()),
        amount: '400',
        reason: 'requested_by_customer',
        'metadata[operation_id]': 'oncehook:1',
        'metadata[order_id]': 'o_1',
        'metadata[tenant_id]': 'default',
      };
      const answer = await peer.post('/v1/refunds', refund, token());
      return answer.status === 200
        ? `200 ${String(answer.body.object)} of ${String(answer.body.amount)}`
        : said(answer);
    },
    stripe: '200 refund of 400',
    but: { localstripe: '400 invalid_request_error' },
  },
  {
    name: 'what names a refund, in the list of its payment',
    ask: async (peer) => {
      const payment = await peer.pay();
      await peer.post('/v1/refunds', { ...payment, amount: '400', 'metadata[operation_id]': 'oncehook:1' }, token());
      const [refund] = await refundsOf(peer, payment);
      return String((refund?.metadata as Record<string, string> | undefined)?.operation_id);
    },
    stripe: 'oncehook:1',
    but: { 'stripe-mock': 'undefined' },
  },
  {
    name: 'more than was paid',
    ask: async (peer) => {
      const payment = await peer.pay();
      await peer.post('/v1/refunds', { ...payment, amount: '700' }, token());
      const answer = await peer.post('/v1/refunds', { ...payment, amount: '700' }, token());
      return answer.status === 200 ? 'refunded' : String(answer.status);
    },
    stripe: '400',
    but: { localstripe: 'refunded', 'stripe-mock': 'refunded' },
  },
  {
    name: 'a refund of what was refunded in full',
    ask: async (peer) => {
      const payment = await peer.pay();
      await peer.post('/v1/refunds', { ...payment, amount: '1000' }, token());
      const answer = await peer.post('/v1/refunds', { ...payment, amount: '1000' }, token());
      return answer.status === 200 ? 'refunded' : said(answer);
    },
    stripe: '400 charge_already_refunded',
    but: { localstripe: 'refunded', 'stripe-mock': 'refunded' },
  },
  {
    name: 'a list in pages',
    ask: async (peer) => {
      const payment = await peer.pay();
      for (const amount of ['1', '2', '3']) await peer.post('/v1/refunds', { ...payment, amount }, token());
      const query = new URLSearchParams(payment).toString();
      const first = await peer.get(`/v1/refunds?${query}&limit=2`);
      const last = (first.body.data as { readonly id: string }[]).at(-1)!.id;
      const second = await peer.get(`/v1/refunds?${query}&limit=2&starting_after=${last}`);
      const pages = [first, second].map(({ body }) =>
        (body.data as { readonly amount: number }[]).map((r) => r.amount),
      );
      const different = new Set(pages.flat()).size;
      return `${pages.map((page) => page.length).join(' and ')}, ${different} different, more: ${String(first.body.has_more)}`;
    },
    stripe: '2 and 1, 3 different, more: true',
    but: { 'stripe-mock': '1 and 1, 1 different, more: false' },
  },
  {
    name: 'a refund of nothing that exists',
    ask: async (peer) => said(await peer.post('/v1/refunds', { charge: 'ch_nowhere', amount: '1' }, token())),
    stripe: '404 resource_missing',
    but: { localstripe: '404 invalid_request_error', 'stripe-mock': '200' },
  },
  {
    name: 'a parameter that does not exist',
    ask: async (peer) => said(await peer.post('/v1/refunds', { ...(await peer.pay()), colour: 'red' }, token())),
    stripe: '400 parameter_unknown',
    but: {
      localstripe: '400 invalid_request_error',
      'stripe-mock': '400 invalid_request_error',
      'stripe-stateful-mock': '200',
    },
  },
  {
    name: 'a request without a key of the account',
    ask: async (peer) => String((await peer.get('/v1/refunds?limit=1', false)).status),
    stripe: '401',
  },
  {
    name: 'the cancellation of a payment that has not happened, twice',
    ask: async (peer) => {
      const made = await peer.post('/v1/payment_intents', { amount: '1000', currency: 'usd' }, token());
      if (made.status !== 200) return 'no PaymentIntents';
      const path = `/v1/payment_intents/${String(made.body.id)}/cancel`;
      const first = await peer.post(path, {}, token());
      return `${String(first.body.status)}, ${said(await peer.post(path, {}, token()))}`;
    },
    stripe: 'canceled, 400 payment_intent_unexpected_state',
    but: {
      localstripe: 'canceled, 400 invalid_request_error',
      'stripe-mock': 'requires_payment_method, 200',
      'stripe-stateful-mock': 'no PaymentIntents',
    },
  },
  {
    name: 'the cancellation with the reason that our operation gives',
    ask: async (peer) => {
      const made = await peer.post('/v1/payment_intents', { amount: '1000', currency: 'usd' }, token());
      if (made.status !== 200) return 'no PaymentIntents';
      const path = `/v1/payment_intents/${String(made.body.id)}/cancel`;
      return String((await peer.post(path, { cancellation_reason: 'abandoned' }, token())).status);
    },
    stripe: '200',
    but: { localstripe: '400', 'stripe-stateful-mock': 'no PaymentIntents' },
  },
];

async function refundsOf(
  peer: Peer,
  payment: Readonly<Record<string, string>>,
): Promise<readonly Record<string, unknown>[]> {
  const { body } = await peer.get(`/v1/refunds?${new URLSearchParams(payment).toString()}&limit=100`);
  return body.data as Record<string, unknown>[];
}

/** Status, and the code or else the type of the error. */
function said({ status, body }: Answer): string {
  const error = body.error as { readonly code?: string; readonly type?: string } | undefined;
  return [String(status), error?.code ?? error?.type].filter((part) => part !== undefined && part !== '').join(' ');
}

interface Opener {
  readonly open: () => Promise<Peer>;
  /** Why this peer cannot be asked; null when it can. */
  readonly without: string | null;
}

const STRIPE_MOCK = process.env.ONCEHOOK_TEST_STRIPE_MOCK;

const OPENERS: Readonly<Record<PeerName, Opener>> = {
  'stand-in': { open: openStandIn, without: null },
  localstripe: {
    open: openLocalstripe,
    without: LOCALSTRIPE === undefined ? 'ONCEHOOK_TEST_LOCALSTRIPE names no program' : null,
  },
  'stripe-mock': {
    open: openStripeMock,
    without: STRIPE_MOCK === undefined ? 'ONCEHOOK_TEST_STRIPE_MOCK names no program' : null,
  },
  'stripe-stateful-mock': { open: openStatefulMock, without: null },
};

async function openStandIn(): Promise<Peer> {
  const dir = openTempDir();
  const standIn = await startStandIn(join(dir, 'ledger.jsonl'));
  return {
    ...byPaymentIntents(standIn.port),
    stop: async () => {
      await standIn.kill();
      removeDir(dir);
    },
  };
}

async function openLocalstripe(): Promise<Peer> {
  const peer = await startLocalstripe();
  return { ...byPaymentIntents(peer.port), stop: () => peer.stop() };
}

async function openStripeMock(): Promise<Peer> {
  const port = await freePort();
  const args = ['-http-addr', `127.0.0.1:${port}`, '-https-addr', `127.0.0.1:${await freePort()}`];
  return { ...byPaymentIntents(port), stop: await startProgram(STRIPE_MOCK!, args, {}, port) };
}

/** It has charges only. */
async function openStatefulMock(): Promise<Peer> {
  const port = await freePort();
  const program = createRequire(import.meta.url).resolve('stripe-stateful-mock/dist/autostart.js');
  const stop = await startProgram(process.execPath, [program], { PORT: String(port), LOG_LEVEL: 'silent' }, port);
  const client = clientOf(port);
  const create = (amount: number, key: string): Promise<Answer> =>
    client.post('/v1/charges', { amount: String(amount), currency: 'usd', source: 'tok_visa' }, key);
  return { ...client, create, pay: async () => ({ charge: String((await create(1_000, token())).body.id) }), stop };
}

/** @returns what stops it. */
async function startProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  port: number,
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { stdio: 'ignore', env: { PATH: process.env.PATH ?? '', ...env } });
  const isThere = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  await until(`${program} answers`, isThere, 30_000);
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
}

function byPaymentIntents(port: number): Omit<Peer, 'stop'> {
  const client = clientOf(port);
  const create = (amount: number, key: string): Promise<Answer> =>
    client.post(
      '/v1/payment_intents',
      { amount: String(amount), currency: 'usd', payment_method: 'pm_card_visa', confirm: 'true' },
      key,
    );
  return { ...client, create, pay: async () => ({ payment_intent: String((await create(1_000, token())).body.id) }) };
}

function clientOf(port: number): Pick<Peer, 'post' | 'get'> {
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, init);
    const body = (await answer.json().catch(() => ({}))) as Answer['body'];
    return { status: answer.status, body, replayed: answer.headers.get('idempotent-replayed') === 'true' };
  };
  const authorization = { Authorization: 'Bearer sk_test_12345' };
  return {
    post: (path, form, key) =>
      ask(path, {
        method: 'POST',
        headers: { ...authorization, ...(key === undefined ? {} : { 'Idempotency-Key': key }) },
        body: new URLSearchParams(form),
      }),
    get: (path, authorized = true) => ask(path, { headers: authorized ? authorization : {} }),
  };
}

describe.each(PEERS)('%s', (name) => {
  const { open, without } = OPENERS[name];

  if (without !== null) {
    it.skip(`cannot be asked: ${without}`);
    return;
  }

  describe('answers', () => {
    let peer: Peer;
    beforeAll(async () => {
      peer = await open();
    });
    afterAll(() => peer.stop());

    it.each(QUESTIONS)('$name', async ({ ask, stripe, but = {} }) => {
      expect(await ask(peer)).toBe(but[name] ?? stripe);
    });
  });
});

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type Stripe from 'stripe';
import { startStandIn, type StripeStandIn } from '../support/stripe-stand-in.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

const SECRET = 'whsec_of_the_stand_in';
const DAY_MS = 24 * 3_600_000;

let dir: string;
let standIn: StripeStandIn;

beforeAll(() => {
  dir = openTempDir();
});
afterAll(() => {
  removeDir(dir);
});
beforeEach(async () => {
  standIn = await startStandIn(join(dir, `ledger-${Math.random()}.jsonl`));
});
afterEach(() => standIn.kill());

describe('a key', () => {
  test('is kept for a day and then forgotten, so that it makes another refund', async () => {
    const payment = await standIn.paid(1_000);
    const refund = (): Promise<Stripe.Refund> =>
      standIn.stripe.refunds.create({ payment_intent: payment, amount: 100 }, { idempotencyKey: 'k' });
    const first = await refund();
    await standIn.setClock(DAY_MS - 60_000);
    expect((await refund()).id).toBe(first.id);
    await standIn.setClock(DAY_MS + 60_000);
    expect((await refund()).id).not.toBe(first.id);
    expect(standIn.refunds()).toHaveLength(2);
  });

  test('keeps an answer as it was, whatever has become of the object since', async () => {
    const payment = await standIn.paid(1_000);
    const refund = (): Promise<Stripe.Refund> =>
      standIn.stripe.refunds.create({ payment_intent: payment, amount: 100 }, { idempotencyKey: 'k' });
    const { id } = await refund();
    await standIn.control('refund', { id, status: 'failed' });
    expect((await refund()).status).toBe('succeeded');
    expect((await standIn.stripe.refunds.retrieve(id)).status).toBe('failed');
  });

  test('is not used up by what was never executed', async () => {
    const payment = await standIn.paid(1_000);
    const post = { method: 'POST', path: '/v1/refunds' } as const;
    await standIn.fail({ ...post, kind: 'status', status: 429 });
    const options = { idempotencyKey: 'k', maxNetworkRetries: 0 };
    await expect(standIn.stripe.refunds.create({ payment_intent: payment }, options)).rejects.toMatchObject({
      statusCode: 429,
    });
    await standIn.stripe.refunds.create({ payment_intent: payment }, options);
    expect(standIn.refunds()).toHaveLength(1);
  });

  test('is of one account and mode', async () => {
    const create = (options: Stripe.RequestOptions): Promise<Stripe.PaymentIntent> =>
      standIn.stripe.paymentIntents.create({ amount: 1, currency: 'usd' }, { idempotencyKey: 'k', ...options });
    const ids = [await create({}), await create({ stripeAccount: 'acct_9' }), await create({ apiKey: 'sk_live_x' })];
    expect(new Set(ids.map(({ id }) => id)).size).toBe(3);
  });
});

describe('events', () => {
  const arrived: Stripe.Event[] = [];
  let refusals = 0;
  let endpoint: Server;

  beforeEach(async () => {
    arrived.length = 0;
    endpoint = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (refusals > 0) {
          refusals -= 1;
          response.writeHead(503).end();
          return;
        }
        const body = Buffer.concat(chunks);
        const signature = String(request.headers['stripe-signature']);
        arrived.push(standIn.stripe.webhooks.constructEvent(body, signature, SECRET));
        response.end('ok');
      });
    });
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
    const { port } = endpoint.address() as AddressInfo;
    await standIn.control('webhooks', { url: `http://127.0.0.1:${port}/`, secret: SECRET });
  });
  afterEach(() => {
    endpoint.closeAllConnections();
    endpoint.close();
  });

  test('are signed as the official library expects, and tell what happened to a payment and its refund', async () => {
    const payment = await standIn.paid(1_000);
    const { id } = await standIn.stripe.refunds.create({ payment_intent: payment }, { idempotencyKey: 'mine' });
    await standIn.control('refund', { id, status: 'failed', failureReason: 'declined' });
    await standIn.control('dispute', { paymentIntent: payment, status: 'needs_response' });
    await standIn.control('dispute', { paymentIntent: payment, status: 'lost' });
    const types = [
      'payment_intent.created',
      'charge.succeeded',
      'payment_intent.succeeded',
      'refund.created',
      'charge.refunded',
      'refund.updated',
      'refund.failed',
      'charge.dispute.created',
      'charge.dispute.closed',
    ];
    await until('all have arrived', () => arrived.length === types.length);
    expect(arrived.map(({ type }) => type).sort()).toEqual([...types].sort());
    const created = arrived.find(({ type }) => type === 'refund.created');
    expect(created).toMatchObject({ livemode: false, request: { idempotency_key: 'mine' }, data: { object: { id } } });
  });

  test('that are refused come again', async () => {
    refusals = 2;
    await standIn.stripe.paymentIntents.create({ amount: 1, currency: 'usd' });
    await until('it has arrived', () => arrived.length === 1);
    expect(refusals).toBe(0);
  });
});

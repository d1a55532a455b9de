import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createStripeFetcher } from '../../src/providers/stripe-objects.js';
import { SCOPE, startCoreWorker, storeEvent, type CoreWorker } from '../support/core-worker.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { paymentEvent, registerOrder, token, type PaymentEvent } from '../support/payment-event.js';

/** A thin event as Stripe sends it, about the object of a snapshot event; each test spoils one thing. */
function thinTwin(snapshot: PaymentEvent, fields: Readonly<Record<string, unknown>> = {}) {
  const { id } = snapshot.data.object;
  return {
    id: `evt_thin_${token()}`,
    object: 'v2.core.event',
    type: `v1.${snapshot.type}`,
    created: '2026-11-30T10:00:00.000Z',
    livemode: false,
    related_object: { id, type: 'payment_intent', url: `http://127.0.0.1:9/v1/payment_intents/${id}` },
    snapshot_event: snapshot.id,
    ...fields,
  };
}

describe('a thin event', () => {
  let database: TestDatabase;
  let core: CoreWorker;
  /** What Stripe has, and what it was asked for. */
  const objects = new Map<string, unknown>();
  const asked: string[] = [];

  beforeAll(async () => {
    database = await openDatabase();
    core = await startCoreWorker(database, {
      fetch: (_scope, { type, id }) => {
        asked.push(`${type} ${id}`);
        const object = objects.get(id);
        return Promise.resolve(object === undefined ? { kind: 'missing' } : { kind: 'found', object });
      },
    });
  });

  beforeEach(() => {
    objects.clear();
    asked.length = 0;
  });

  afterAll(async () => {
    await core.stop();
    await database.drop();
  });

  async function run(event: { readonly id: string; readonly type: string }): Promise<void> {
    await core.starts.startEvent({ scope: SCOPE, ...(await storeEvent(database, event)) });
    await core.handle(event.id).result();
  }

  async function inboxSays(eventId: string): Promise<string> {
    const [row] = await database.rows<{ says: string }>(
      `select concat_ws(' ', status, outcome, reason) as says from oncehook.webhook_inbox where event_id = $1`,
      [eventId],
    );
    return row!.says;
  }

  async function orderStatus(id: string): Promise<unknown> {
    const [row] = await database.rows<{ status: string }>('select status from oncehook.orders where id = $1', [id]);
    return row?.status;
  }

  const mails = (order: string): number => core.performed.filter((key) => key.endsWith(`:${order}`)).length;

  it('fetches its object and does what its snapshot would', async () => {
    const order = await registerOrder(database);
    const snapshot = paymentEvent(order);
    objects.set(snapshot.data.object.id, snapshot.data.object);
    const thin = thinTwin(snapshot);
    await run(thin);
    expect(await inboxSays(thin.id)).toBe('done applied');
    expect(await orderStatus(order)).toBe('paid');
    expect(asked).toEqual([`payment_intent ${snapshot.data.object.id}`]);
  });

  it('is a duplicate after its snapshot twin, without asking', async () => {
    const order = await registerOrder(database);
    const snapshot = paymentEvent(order);
    const thin = thinTwin(snapshot);
    await run(snapshot);
    await run(thin);
    expect(await inboxSays(thin.id)).toBe('done duplicate twin_event');
    expect(asked).toEqual([]);
    expect(mails(order)).toBe(1);
  });

  it('makes its snapshot twin a duplicate when it comes first', async () => {
    const order = await registerOrder(database);
    const snapshot = paymentEvent(order);
    objects.set(snapshot.data.object.id, snapshot.data.object);
    await run(thinTwin(snapshot));
    await run(snapshot);
    expect(await inboxSays(snapshot.id)).toBe('done duplicate twin_event');
    expect(mails(order)).toBe(1);
  });

  it('and its twin at the same time have one effect, in twenty pairs', async () => {
    const pairs = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const order = await registerOrder(database);
        const snapshot = paymentEvent(order);
        objects.set(snapshot.data.object.id, snapshot.data.object);
        return { order, snapshot, thin: thinTwin(snapshot) };
      }),
    );
    await Promise.all(pairs.flatMap(({ snapshot, thin }) => [run(snapshot), run(thin)]));
    for (const { order, snapshot, thin } of pairs) {
      const outcomes = [await inboxSays(snapshot.id), await inboxSays(thin.id)].map((says) => says.split(' ')[1]);
      expect(outcomes.sort()).toEqual(['applied', 'duplicate']);
      expect(mails(order)).toBe(1);
    }
  });

  it('whose twin waits for an operator is worked on: nothing has been done for the two', async () => {
    const order = await registerOrder(database);
    const snapshot = paymentEvent(order);
    objects.set(snapshot.data.object.id, snapshot.data.object);
    await storeEvent(database, snapshot);
    await database.rows(
      `update oncehook.webhook_inbox set status = 'quarantined', reason = 'schema' where event_id = $1`,
      [snapshot.id],
    );
    const thin = thinTwin(snapshot);
    await run(thin);
    expect(await inboxSays(thin.id)).toBe('done applied');
  });

  it('about an object that Stripe does not have waits for an operator', async () => {
    const thin = thinTwin(paymentEvent('order_nobody'));
    await core.starts.startEvent({ scope: SCOPE, ...(await storeEvent(database, thin)) });
    await expect.poll(() => inboxSays(thin.id), { timeout: 20_000 }).toBe('quarantined object_missing');
  });

  it('that nobody handles is ignored, and nothing is fetched for it', async () => {
    const thin = thinTwin(paymentEvent('order_nobody'), { type: 'v1.tax_rate.created' });
    await run(thin);
    expect(await inboxSays(thin.id)).toBe('done ignored');
    expect(asked).toEqual([]);
  });
});

describe('asking Stripe for an object', () => {
  let server: Server;
  let requests: IncomingMessage[];

  beforeEach(async () => {
    requests = [];
    server = createServer((req, res) => {
      requests.push(req);
      res.setHeader('Content-Type', 'application/json');
      res.end(JSON.stringify(answerTo(req)));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  /** One refund, or the list of a payment's in two pages. */
  function answerTo({ url = '' }: IncomingMessage): unknown {
    if (!url.startsWith('/v1/refunds?')) return { id: 'found', object: 'refund' };
    const isSecondPage = new URL(url, 'http://stripe').searchParams.get('starting_after') === 're_1';
    const data = [{ id: isSecondPage ? 're_2' : 're_1', object: 'refund' }];
    return { object: 'list', data, has_more: !isSecondPage, url: '/v1/refunds' };
  }

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  it.each([
    ['stripe:acct_1:live', undefined, undefined],
    ['stripe:acct_9:live', 'acct_9', undefined],
    ['stripe:org_1/acct_9:live', undefined, 'org_1/acct_9'],
  ])('goes to its own address by type and ID, in the name of %s', async (scope, account, context) => {
    const { port } = server.address() as AddressInfo;
    const fetcher = createStripeFetcher({
      apiKey: 'sk_test_1',
      apiBase: `http://127.0.0.1:${port}`,
      ownAccount: 'acct_1',
    });
    const found = await fetcher(scope, { type: 'refund', id: '../v1/x?y' });
    expect(found).toMatchObject({ kind: 'found', object: { id: 'found' } });
    expect(requests.map(({ url }) => url)).toEqual(['/v1/refunds/..%2Fv1%2Fx%3Fy']);
    expect(requests[0]?.headers['stripe-account']).toBe(account);
    expect(requests[0]?.headers['stripe-context']).toBe(context);
  });

  it('lists all refunds of a payment, page by page', async () => {
    const { port } = server.address() as AddressInfo;
    const fetcher = createStripeFetcher({
      apiKey: 'sk_test_1',
      apiBase: `http://127.0.0.1:${port}`,
      ownAccount: 'acct_1',
    });
    expect(await fetcher('stripe:acct_9:live', { type: 'refunds_of_payment', id: 'pi_1' })).toEqual({
      kind: 'found',
      object: {
        object: 'list',
        data: [
          { id: 're_1', object: 'refund' },
          { id: 're_2', object: 'refund' },
        ],
      },
    });
    expect(requests.map(({ url }) => url)).toEqual([
      '/v1/refunds?payment_intent=pi_1&limit=100',
      '/v1/refunds?payment_intent=pi_1&limit=100&starting_after=re_1',
    ]);
    expect(requests.map(({ headers }) => headers['stripe-account'])).toEqual(['acct_9', 'acct_9']);
  });
});

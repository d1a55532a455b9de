import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import {
  applied,
  createWebhookReceiver,
  createWebhookWorker,
  defineHandlers,
  emailOperation,
  httpOperation,
  mailOperation,
  operationKey,
  type AnyOperationDefinition,
  type ConfigDocument,
  type Mail,
  type MailTransport,
  type WebhookOptions,
} from '../../src/index.js';
import { defineProof, openWebhookBench } from '../../src/testing/index.js';
import { startCalendar, type CalendarStandIn } from '../support/calendar-stand-in.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { token } from '../support/payment-event.js';
import { proveHere, stepsOf } from '../support/prove-here.js';
import { stripeEvent } from '../support/stripe-event.js';
import { stripeSignature, unixNow } from '../support/stripe-signing.js';
import { until } from '../support/until.js';

const SECRET = 'whsec_of_the_shop_0123456789';

/** Somebody else's server, which does nothing twice under one key. */
let crm: CalendarStandIn;
let outbox: Mail[];
const transport: MailTransport = {
  send: (mail) => {
    outbox.push(mail);
    return Promise.resolve({ kind: 'accepted' });
  },
};

const person = z.object({ data: z.object({ object: z.object({ id: z.string() }) }) });

/** A signup is told to the CRM, to the person, and to whoever listens on the built-in kind. */
const signups = defineHandlers({
  'customer.created': (event) => {
    const { id } = person.parse(event.payload).data.object;
    const mail = { template: 'order_paid', to: 'ada@example.com', orderId: id, amountMinor: 1, currency: 'usd' };
    return applied({
      operations: [
        { kind: 'crm', key: operationKey('crm', id), params: { target: 'people', body: { id } } },
        { kind: 'http', key: operationKey('http', id), params: { target: 'audit', body: { id } } },
        { kind: 'welcome_mail', key: operationKey('welcome', id), params: { to: 'ada@example.com', id } },
        { kind: 'email', key: operationKey('email', id), params: mail },
      ],
    });
  },
});

const crmKind = () => httpOperation({ kind: 'crm', targets: { people: { url: () => crm.url } } });

const kinds = (): readonly AnyOperationDefinition[] => [
  crmKind(),
  httpOperation({ targets: { audit: { url: () => `${crm.url}-audit` } } }),
  emailOperation({ transport, from: 'shop@shop.example' }),
  mailOperation({
    kind: 'welcome_mail',
    params: z.object({ to: z.string(), id: z.string() }),
    transport,
    from: 'hello@shop.example',
    to: ({ to }) => to,
    content: ({ id }) => ({ subject: 'Welcome', text: `You are ${id}.\n`, html: '<p>Welcome</p>' }),
  }),
];

beforeAll(async () => {
  crm = await startCalendar('/crm');
});
beforeEach(() => {
  outbox = [];
});
afterAll(() => crm.close());

const customer = (id: string) => ({ type: 'customer.created', data: { object: { id, object: 'customer' } } });

describe('in the worker of an application', () => {
  let database: TestDatabase;
  let options: WebhookOptions;
  beforeAll(async () => {
    database = await openDatabase();
    const config: ConfigDocument = {
      version: 1,
      sources: {
        stripe: { kind: 'stripe', secrets: [SECRET], handlers: 'signups' },
        // Its mails go the application's way, so that nothing of oncehook's own needs an SMTP server.
        orders: { kind: 'stripe', secrets: [SECRET], account: 'acct_orders' },
      },
      effects: { crm: { perHour: 1_000 }, email: { mode: 'auto' } },
    };
    options = {
      config,
      databaseUrl: database.url,
      handlerSets: { signups },
      operations: kinds(),
      taskQueue: `own-effects-${token()}`,
      env: { TEMPORAL_ADDRESS: inject('temporalAddress'), LOG_LEVEL: 'silent' },
    };
  });
  afterAll(() => database.drop());

  test('own kinds go to their own places, and those with the name of a built-in kind take its place', async () => {
    const [receiver, worker] = [createWebhookReceiver(options), createWebhookWorker(options)];
    const running = worker.run();
    try {
      const { body } = stripeEvent(customer('cus_1'));
      const headers = { 'stripe-signature': stripeSignature(body, SECRET, unixNow()) };
      const request = new Request('http://shop.example/webhooks/stripe', { method: 'POST', body, headers });
      expect((await receiver.fetch(request)).status).toBe(200);
      await until('all four are made', async () => {
        const rows = await database.rows(`select from oncehook.operations where status = 'confirmed'`);
        return rows.length === 4;
      });
    } finally {
      await Promise.all([receiver.stop(), worker.stop()]);
    }
    await running;
    expect(crm.calls.map(({ path, body }) => [path, body]).sort()).toEqual([
      ['/crm', '{"id":"cus_1"}'],
      ['/crm-audit', '{"id":"cus_1"}'],
    ]);
    expect(outbox.map(({ from }) => from).sort()).toEqual(['hello@shop.example', 'shop@shop.example']);
  });

  test('two of its own under one name are refused at once', () => {
    const operations = [...kinds(), crmKind()];
    expect(() => createWebhookWorker({ ...options, operations })).toThrow(/"crm" is defined more than once/);
  });

  test('without a mail kind of its own the orders set asks for an SMTP server, as ever', () => {
    expect(() => createWebhookWorker({ ...options, operations: [crmKind()] })).toThrow(/SMTP_URL/);
  });
});

describe('in tests of the application', () => {
  test('a bench makes them, and confirms the other built-in kinds with nothing behind them', async () => {
    const bench = await openWebhookBench({
      databaseUrl: inject('postgresUrl'),
      handlers: signups,
      operations: kinds().filter(({ kind }) => kind !== 'email'),
    });
    try {
      const before = crm.calls.length;
      await bench.deliver({ type: 'customer.created', payload: customer('cus_2') });
      expect((await bench.performOperations()).map(({ kind, status }) => [kind, status])).toEqual([
        ['crm', 'confirmed'],
        ['email', 'confirmed'],
        ['http', 'confirmed'],
        ['welcome_mail', 'confirmed'],
      ]);
      expect(crm.calls).toHaveLength(before + 2);
      expect(outbox.map(({ from }) => from)).toEqual(['hello@shop.example']);
    } finally {
      await bench.close();
    }
  });

  test('a proof runs them: answers are lost, and the other side does it once', { timeout: 60_000 }, async () => {
    const proof = defineProof({
      handlers: defineHandlers({
        'customer.created': (event) => {
          const { id } = person.parse(event.payload).data.object;
          const key = operationKey('crm', id);
          return applied({ operations: [{ kind: 'crm', key, params: { target: 'people', body: { id } } }] });
        },
      }),
      operations: [crmKind()],
      events: [{ type: 'customer.created', payload: customer('cus_3') }],
      state: () => null,
      effects: () => crm.executed.map(({ entry }) => entry),
      // A key is the same in every schedule, so the other side must forget between them.
      reset: async () => {
        await crm.close();
        crm = await startCalendar('/crm');
      },
    });
    const verdict = await proveHere('an HTTP kind of one’s own', proof, 300);
    expect(stepsOf(verdict)).toEqual([]);
    expect(verdict.exhaustive).toBe(true);
  });
});

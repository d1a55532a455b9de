import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { token } from '../support/payment-event.js';
import { commandRunner } from '../support/run-command.js';

const BY = ['--by', 'ana', '--reason', 'INC-42'] as const;
const SCOPE = 'stripe:acct_own:test';

let database: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  database = await openDatabase();
  env = {
    DATABASE_URL: database.url,
    STRIPE_WEBHOOK_SECRET: 'whsec_0123456789abcdef',
    // No server is there: what is asked for stands all the same.
    TEMPORAL_ADDRESS: '127.0.0.1:1',
  };
});
afterAll(() => database.drop());

const oncehook = commandRunner(() => env);

async function json(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout } = await oncehook(...args, '--json');
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** A paid order of 42.00 USD. */
async function paidOrder(tenant = 'default', id = `o_${token()}`): Promise<string> {
  const payment = `pi_${token()}`;
  await database.rows(
    `insert into oncehook.orders
            (tenant_id, id, status, provider_payment_id, total_minor, currency, captured_minor, paid_at)
     values ($1, $2, 'paid', $3, 4200, 'usd', 4200, now())`,
    [tenant, id, payment],
  );
  await database.rows(
    `insert into oncehook.payments
            (source_scope, provider_payment_id, tenant_id, order_id, role, provider_status, captured_minor, currency)
     values ($1, $2, $3, $4, 'bound', 'succeeded', 4200, 'usd')`,
    [SCOPE, payment, tenant, id],
  );
  return id;
}

async function openOrder(): Promise<string> {
  const id = `o_${token()}`;
  await database.rows(
    `insert into oncehook.orders (tenant_id, id, total_minor, currency) values ('default', $1, 4200, 'usd')`,
    [id],
  );
  return id;
}

test('orders are listed and shown', async () => {
  const order = await paidOrder();
  const { orders } = await json('orders', 'list', '--status', 'paid');
  expect(orders).toContainEqual(expect.objectContaining({ id: order, totalMinor: '4200', capturedMinor: '4200' }));
  expect(await json('orders', 'show', order)).toMatchObject({
    status: 'paid',
    payments: [{ role: 'bound', capturedMinor: '4200', scope: SCOPE }],
    operations: [],
  });
  const { stdout } = await oncehook('orders', 'show', order);
  expect(stdout).toContain('42.00 USD');
  expect(await json('orders', 'list', '--held')).toMatchObject({ orders: [] });
});

test('an order that is not there, or is there twice, is said to be so', async () => {
  expect(await oncehook('orders', 'show', 'o_nowhere')).toMatchObject({ code: 3 });
  const order = await paidOrder('default', `o_${token()}`);
  await paidOrder('other', order);
  expect(await oncehook('orders', 'show', order)).toMatchObject({ code: 2 });
  expect(await json('orders', 'show', order, '--tenant', 'other')).toMatchObject({ tenant: 'other' });
});

const amounts = (...args: readonly string[]): readonly string[] => ['--amount-minor', ...args];

test('a refund is asked for once under its request ID, by name, and within what was paid', async () => {
  const order = await paidOrder();
  const ask = ['orders', 'refund', order, '--request-id', 'r1', ...BY];
  expect(await oncehook(...ask, ...amounts('4.2'))).toMatchObject({ code: 2 });
  expect(await oncehook('orders', 'refund', order, ...BY, ...amounts('4200'))).toMatchObject({ code: 2 });
  expect(await json(...ask, ...amounts('4200'), '--dry-run')).toMatchObject({ would: 'refund', status: 'paid' });

  const { operation } = await json(...ask, ...amounts('4200'));
  expect(await json(...ask, ...amounts('4200'))).toMatchObject({ operation });
  expect(await json('orders', 'show', order)).toMatchObject({
    operations: [{ operationKey: operation, status: 'planned', amountMinor: '4200' }],
  });
  expect(await json('operations', 'show', String(operation))).toMatchObject({
    params: { scope: SCOPE, amountMinor: 4200, currency: 'usd', orderId: order, purpose: 'requested' },
    actions: [
      { action: 'refund', requestedBy: 'ana' },
      { action: 'refund', requestedBy: 'ana' },
    ],
  });

  const more = await oncehook('orders', 'refund', order, '--request-id', 'r2', ...BY, ...amounts('1'));
  expect(more.code).toBe(1);
  expect(more.stderr).toMatch(/^oncehook: .*refund/);
  expect(await oncehook('orders', 'refund', 'o_nowhere', '--request-id', 'r1', ...BY, ...amounts('1'))).toMatchObject({
    code: 3,
  });
});

test('an order that is not paid is canceled, and one that is paid is not', async () => {
  const open = await openOrder();
  expect(await oncehook('orders', 'cancel', open, ...BY)).toMatchObject({ code: 0 });
  expect(await json('orders', 'show', open)).toMatchObject({ status: 'canceled' });
  const paid = await oncehook('orders', 'cancel', await paidOrder(), ...BY);
  expect(paid.code).toBe(1);
  expect(paid.stderr).toContain('oncehook: Order ');
});

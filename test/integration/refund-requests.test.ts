import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { operationKey } from '../../src/index.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { token } from '../support/payment-event.js';
import { runCommand, type CommandResult } from '../support/run-command.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { STAND_IN_KEY, startStandIn, type StripeStandIn } from '../support/stripe-stand-in.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

const SECRET = 'whsec_of_the_late_payment';
const BY = ['--by', 'ana', '--reason', 'INC-42'] as const;

let dir: string;
let database: TestDatabase;
let standIn: StripeStandIn;
let services: ServiceProcess[];
let env: Record<string, string>;

beforeAll(async () => {
  dir = openTempDir();
  database = await openDatabase();
  standIn = await startStandIn(join(dir, 'ledger.jsonl'));
  const config = join(dir, 'oncehook.yaml');
  const stripe = {
    kind: 'stripe',
    secrets: ['${STRIPE_WEBHOOK_SECRET}'],
    account: 'acct_own',
    apiKey: '${STRIPE_API_KEY}',
  };
  const email = { orderPaid: 'off', refundSucceeded: 'off', refundFailed: 'off' };
  writeFileSync(config, JSON.stringify({ version: 1, sources: { stripe }, email }));
  env = {
    ONCEHOOK_CONFIG: config,
    DATABASE_URL: database.url,
    STRIPE_WEBHOOK_SECRET: SECRET,
    STRIPE_API_KEY: STAND_IN_KEY,
    STRIPE_API_BASE: standIn.base,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_TASK_QUEUE: `late-${token()}`,
  };
  services = await Promise.all([startService('receiver', env), startService('worker', env)]);
  await standIn.control('webhooks', { url: `http://127.0.0.1:${services[0]!.port}/webhooks/stripe`, secret: SECRET });
});
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await standIn.kill();
  await database.drop();
  removeDir(dir);
});

async function order(status: string): Promise<string> {
  const id = `o_${token()}`;
  await database.rows(
    `insert into oncehook.orders (tenant_id, id, status, total_minor, currency) values ('default', $1, $2, 4200, 'usd')`,
    [id, status],
  );
  return id;
}

const operation = async (key: string): Promise<Record<string, unknown> | undefined> =>
  (
    await database.rows<Record<string, unknown>>('select * from oncehook.operations where operation_key = $1', [key])
  )[0];

test('a late payment of a canceled order is proposed for refund, approved, made once, and closed by its event', async () => {
  const id = await order('canceled');
  const payment = await standIn.paid(4_200, { order_id: id });
  const key = operationKey('refund', 'late', 'default', payment);
  await until('it is proposed', async () => (await operation(key))?.status === 'proposed', 30_000);
  expect(standIn.refunds()).toEqual([]);
  const approved = await runCommand(['operations', 'approve', key, '--wait', '30s', ...BY], env);
  expect(approved).toMatchObject({ code: 0 });
  await until('it is confirmed', async () => (await operation(key))?.status === 'confirmed', 30_000);
  expect(standIn.refunds()).toHaveLength(1);
  await until(
    'its row is there',
    async () => {
      const [row] = await database.rows(
        `select from oncehook.refunds where operation_key = $1 and provider_refund_id = $2 and status = 'succeeded'`,
        [key, standIn.refunds()[0]!.id],
      );
      return row !== undefined;
    },
    30_000,
  );
});

test('a paid order is refunded in part and then in full by request, within what was captured', async () => {
  const id = await order('awaiting_payment');
  const payment = await standIn.paid(4_200, { order_id: id });
  const status = async (): Promise<unknown> =>
    (await database.rows<{ status: string }>('select status from oncehook.orders where id = $1', [id]))[0]?.status;
  await until('it is paid', async () => (await status()) === 'paid', 30_000);
  const ask = (request: string, amount: string): Promise<CommandResult> =>
    runCommand(['orders', 'refund', id, '--request-id', request, '--amount-minor', amount, ...BY], env);
  const both = await Promise.all([ask('r1', '3000'), ask('r2', '3000')]);
  expect(both.map(({ code }) => code).sort()).toEqual([0, 1]);
  const planned = async (): Promise<readonly Record<string, unknown>[]> =>
    database.rows(
      `select operation_key, status from oncehook.operations where params->>'orderId' = $1 order by created_at`,
      [id],
    );
  await until('it is proposed', async () => (await planned())[0]?.status === 'proposed', 30_000);
  await runCommand(['operations', 'approve', '--order', id, '--yes', ...BY], env);
  await until('the order shows it', async () => (await status()) === 'partially_refunded', 30_000);
  expect((await ask('r3', '1200')).code).toBe(0);
  await until('it is proposed', async () => (await planned()).some((row) => row.status === 'proposed'), 30_000);
  await runCommand(['operations', 'approve', '--order', id, '--yes', ...BY], env);
  await until('the order shows it', async () => (await status()) === 'refunded', 30_000);
  const made = standIn.refunds().filter(({ paymentIntent }) => paymentIntent === payment);
  expect(made.map(({ amount }) => amount)).toEqual([3_000, 1_200]);
});

test('a refused refund is not tried again where others have claimed its money since', async () => {
  const id = await order('awaiting_payment');
  await standIn.paid(4_200, { order_id: id });
  await until(
    'it is paid',
    async () =>
      (await database.rows(`select from oncehook.orders where id = $1 and status = 'paid'`, [id])).length === 1,
    30_000,
  );
  const ask = (request: string): Promise<CommandResult> =>
    runCommand(['orders', 'refund', id, '--request-id', request, '--amount-minor', '4200', ...BY], env);
  const [first, second] = ['r1', 'r2'].map((request) => operationKey('refund', 'requested', 'default', id, request));
  await ask('r1');
  await runCommand(['operations', 'settle', first!, '--as', 'refused', ...BY], env);
  expect(await ask('r2')).toMatchObject({ code: 0 });
  expect(await runCommand(['operations', 'retry', first!, ...BY], env)).toMatchObject({ code: 1 });
  expect(await operation(first!)).toMatchObject({ status: 'refused', generation: 1 });
  await runCommand(['operations', 'settle', second!, '--as', 'refused', ...BY], env);
  expect(await runCommand(['operations', 'retry', first!, ...BY], env)).toMatchObject({ code: 0 });
});

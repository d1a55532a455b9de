import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import 'oncehook/testing/vitest';
import { openWebhookBench, permutations, stripeEvent, type WebhookBench } from 'oncehook/testing';
import { shopSchema } from '../src/shop-schema.js';
import { shop } from '../src/webhooks.js';

let bench: WebhookBench;

beforeAll(async () => {
  bench = await openWebhookBench({
    databaseUrl: process.env.DATABASE_URL!,
    handlers: shop,
    setup: (db) => db.query(shopSchema()),
  });
});

beforeEach(async () => {
  await bench.reset();
  await bench.db.query(`insert into shop.orders (id, total_minor, currency) values ('o_1', 4200, 'usd')`);
});

afterAll(() => bench.close());

const paid = (amount = 4200, currency = 'usd', id = 'pi_1') =>
  stripeEvent('payment_intent.succeeded', {
    id,
    amount_received: amount,
    currency,
    metadata: { order_id: 'o_1' },
  });

const status = async (): Promise<unknown> =>
  (await bench.db.query('select status from shop.orders where id = $1', ['o_1'])).rows[0]?.status;

test('a payment pays its order and wakes its workflow, once', async () => {
  const event = paid();
  const result = await bench.deliver(event);
  expect(result).toBeApplied();
  expect(result).toPlanOperation('signal_workflow');
  expect(await bench.deliverCopy(event)).toBeDuplicate();
  expect(await status()).toBe('paid');
  expect(await bench.operations()).toHaveLength(1);
});

test('what does not fit waits for a person', async () => {
  expect(await bench.deliver(paid(4199))).toBeQuarantined('wrong_amount');
  expect(await bench.deliver(paid(4200, 'vnd'))).toBeQuarantined('wrong_amount');
  expect(await status()).toBe('open');
});

test('the same payment in another event is a duplicate, a second one waits for a person', async () => {
  expect(await bench.deliver(paid())).toBeApplied();
  expect(await bench.deliver(paid())).toBeDuplicate();
  expect(await bench.deliver(paid(4200, 'usd', 'pi_2'))).toBeQuarantined('order_not_open');
});

test('nobody pays an order that has expired without being noticed', async () => {
  await bench.db.query(`update shop.orders set status = 'expired'`);
  expect(await bench.deliver(paid())).toBeQuarantined('order_not_open');
});

test('a payment that comes before its order waits for it', async () => {
  await bench.db.query('delete from shop.orders');
  expect(await bench.deliver(paid())).toWait('unknown_order');
  await bench.db.query(`insert into shop.orders (id, total_minor, currency) values ('o_1', 4200, 'usd')`);
  await bench.runWaiting();
  expect(await status()).toBe('paid');
});

test('in every order of a right and a wrong payment the right one counts', async () => {
  for (const sequence of permutations([paid(), paid(1)])) {
    await bench.reset();
    await bench.db.query(`insert into shop.orders (id, total_minor, currency) values ('o_1', 4200, 'usd')`);
    await bench.deliverAll(sequence);
    expect(await status(), sequence.name).toBe('paid');
  }
});

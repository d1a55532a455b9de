import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate, migrationsFolder, neededMigrations } from '../../src/db/migrate.js';
import { RELEASES } from '../../src/db/releases.js';
import { createLogger } from '../../src/observability/logger.js';
import { openOlderDatabase } from '../support/older-schema.js';
import { paymentEvent, registerOrder, type PaymentEvent } from '../support/payment-event.js';
import { buildPreviousVersion, PREVIOUS, previousFile, whyNoPreviousVersion } from '../support/previous-version.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { openStack, stackFor, type Stack } from '../support/stack.js';
import { removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

const absent = whyNoPreviousVersion();
if (absent !== undefined) it.skip(`the version before cannot be run beside this one: ${absent}`);

describe.skipIf(absent !== undefined)(`${PREVIOUS.version} beside this version, on this version's schema`, () => {
  let root: string;
  let stack: Stack;
  let old: { readonly receiver: ServiceProcess; worker: ServiceProcess };
  let fresh: { readonly receiver: ServiceProcess; worker: ServiceProcess };
  /** Left open by the old worker, and by the new one. */
  let ofOld: PaymentEvent;
  let ofNew: PaymentEvent;

  beforeAll(async () => {
    [root, stack] = await Promise.all([buildPreviousVersion(), openStack()]);
    const [receiver, worker] = await Promise.all([stack.start('receiver', { root }), stack.start('worker', { root })]);
    old = { receiver, worker };
  });

  afterAll(async () => {
    await stack.close();
    removeDir(root);
  });

  it('is the version that it says it is', () => {
    expect(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))).toMatchObject({ version: PREVIOUS.version });
    expect(RELEASES.at(-1)?.version).toBe(PREVIOUS.version);
  });

  it('had the same migrations as far as it had any', async () => {
    const { lastMigration } = RELEASES.at(-1)!;
    for (const name of (await neededMigrations()).filter((migration) => migration <= lastMigration)) {
      const file = `${name}.sql`;
      expect(readFileSync(join(migrationsFolder(), file), 'utf8'), file).toBe(previousFile(`migrations/${file}`));
    }
  });

  it('lets an order be paid and mailed, proposes a refund, and keeps an event for a person', async () => {
    const paid = await stack.payment();
    await accepted(paid, old.receiver);
    await isPaidAndMailed(paid);

    const again = paymentEvent(orderOf(paid));
    await accepted(again, old.receiver);
    await until('a refund is proposed', async () => {
      const rows = await stack.database.rows(
        `select from oncehook.operations where kind = 'refund' and status = 'proposed' and params ->> 'paymentId' = $1`,
        [again.data.object.id],
      );
      return rows.length === 1;
    });
    ofOld = await underpaid(old.receiver);
  });

  it('carries on what a new receiver takes, with an old worker', async () => {
    fresh = { receiver: await stack.start('receiver'), worker: await stack.start('worker') };
    await fresh.worker.stop();
    const paid = await stack.payment();
    await accepted(paid, fresh.receiver);
    await isPaidAndMailed(paid);
  });

  it('has its events carried on by a new worker, and the runs that it left open', async () => {
    fresh.worker = await stack.start('worker');
    await old.worker.stop();
    const paid = await stack.payment();
    await accepted(paid, old.receiver);
    await isPaidAndMailed(paid);
    await isReplayed(ofOld);
    ofNew = await underpaid(fresh.receiver);
  });

  it('goes on with the runs that a new worker left open, when the upgrade is taken back', async () => {
    old.worker = await stack.start('worker', { root });
    await fresh.worker.stop();
    await isReplayed(ofNew);
  });

  async function accepted(event: PaymentEvent, { port }: ServiceProcess): Promise<void> {
    expect(await stack.sender.deliver(event, port)).toMatchObject({ status: 200, said: 'accepted' });
  }

  /** Delivered, and its run open under quarantine. */
  async function underpaid(receiver: ServiceProcess): Promise<PaymentEvent> {
    const order = await registerOrder(stack.database);
    const event = paymentEvent(order, ({ data }) => (data.object.amount_received = 1));
    await accepted(event, receiver);
    await until('it is quarantined', () => isInbox(event, 'quarantined'));
    return event;
  }

  /** The order is put right, and the run that was open goes on with it. */
  async function isReplayed(event: PaymentEvent): Promise<void> {
    const run = stack.run(event);
    const { runId } = await run.describe();
    await stack.database.rows('update oncehook.orders set total_minor = 1 where id = $1', [orderOf(event)]);
    await run.signal('replay', { by: 'ana', reason: 'INC-42' });
    await isPaidAndMailed(event);
    expect((await run.describe()).runId).toBe(runId);
  }

  async function isPaidAndMailed(event: PaymentEvent): Promise<void> {
    const order = orderOf(event);
    await until('it is done', () => isInbox(event, 'done'));
    await stack.run(event).result();
    const { orders, operations, mails, runs } = await stack.evidence();
    expect(orders.find(({ id }) => id === order)).toMatchObject({ status: 'paid' });
    const { messageId } = operations.find(({ orderId }) => orderId === order)!;
    expect(mails.filter((mail) => mail.messageId === messageId)).toHaveLength(1);
    expect(runs.filter(({ status }) => status !== 'RUNNING' && status !== 'COMPLETED')).toEqual([]);
  }

  async function isInbox({ id }: PaymentEvent, status: string): Promise<boolean> {
    const rows = await stack.database.rows('select from oncehook.webhook_inbox where event_id = $1 and status = $2', [
      id,
      status,
    ]);
    return rows.length === 1;
  }
});

describe('this version on the schema of the one before', () => {
  it('waits, is not ready and says so, until somebody migrates', async (test) => {
    const last = [...(await neededMigrations())].sort().at(-1)!;
    const database = await openOlderDatabase((migration) => migration !== last);
    const stack = await stackFor(test, { database });
    const receiver = await stack.start('receiver');
    const worker = await startService('worker', stack.env, { awaitReady: false });
    test.onTestFinished(() => worker.kill());
    expect(await readiness(receiver)).toMatchObject({
      code: 503,
      status: 'not_ready',
      postgres: 'ok',
      schema: 'behind',
    });
    await worker.logged('waiting: the schema is behind this version; run `oncehook migrate`');
    expect(worker.lines.map(({ msg }) => msg)).not.toContain('worker ready');

    expect(await migrate({ url: database.url, log: createLogger('silent', 'test') })).toMatchObject({
      applied: [last],
    });
    await worker.logged('worker ready');
    await until('the receiver is ready', async () => (await readiness(receiver)).code === 200);
    const event = await stack.payment();
    expect(await stack.sender.deliver(event)).toMatchObject({ status: 200 });
    await stack.untilSound();
  });
});

async function readiness({ port }: ServiceProcess): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
  return { code: answer.status, ...((await answer.json()) as Record<string, unknown>) };
}

function orderOf(event: PaymentEvent): string {
  return String(event.data.object.metadata.order_id);
}

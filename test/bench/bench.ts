import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createTransport } from 'nodemailer';
import { afterAll, afterEach, beforeAll, beforeEach, inject, it } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { paymentEvent, registerOrder, token } from '../support/payment-event.js';
import { HISTORIES, type RecordedHistory } from '../replay/recorded-history.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { startSmtpSink, type SmtpSink } from '../support/smtp-sink.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';
import { median, sendLoad, type LoadResult } from './load.js';

// Not tests: `npm run bench` prints ratios of one run; absolute figures only mean something on the machine they are from.

const SECRET = 'whsec_bench_secret';
const ACKS = 2_000;
const ACK_CONCURRENCY = 32;
const ROUNDS = 3;
const EVENTS = 300;
const EVENT_CONCURRENCY = 10;

let dir: string;
let database: TestDatabase;
let sink: SmtpSink;
const children: ChildProcess[] = [];

beforeAll(async () => {
  dir = openTempDir();
  sink = await startSmtpSink(join(dir, 'ledger'));
});

// A database each: the events that one leaves pending would be the next one's backlog.
beforeEach(async () => {
  database = await openDatabase();
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await database.drop();
});

afterAll(async () => {
  await sink.kill();
  removeDir(dir);
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function serviceEnv(taskQueue: string): Record<string, string> {
  return {
    DATABASE_URL: database.url,
    STRIPE_WEBHOOK_SECRET: SECRET,
    SMTP_URL: sink.url,
    EMAIL_FROM: 'shop@example.com',
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_TASK_QUEUE: taskQueue,
    LOG_LEVEL: 'info',
  };
}

async function startPeer(mode: 'none' | 'insert' | 'textbook', taskQueue = 'none'): Promise<number> {
  const file = fileURLToPath(new URL('./peer-process.js', import.meta.url));
  const child = fork(file, [mode, SECRET, database.url, inject('temporalAddress'), taskQueue]);
  children.push(child);
  const [message] = (await once(child, 'message')) as [{ readonly port: number }];
  return message.port;
}

const bodies = (count: number): string[] =>
  Array.from({ length: count }, () => JSON.stringify(paymentEvent(`order_${token()}`)));

it('acknowledgements', { timeout: 600_000 }, async () => {
  // Nobody works on the task queue: what is measured is receiving.
  const receiver = await startService('receiver', serviceEnv(`bench-idle-${token()}`));
  receiver.ignoreLog();
  const ports = {
    oncehook: receiver.port,
    'no database': await startPeer('none'),
    'insert a request': await startPeer('insert'),
  };
  const results = new Map<string, LoadResult[]>(Object.keys(ports).map((name) => [name, []]));
  for (const port of Object.values(ports)) await sendLoad(port, SECRET, bodies(300), ACK_CONCURRENCY);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, port] of Object.entries(ports)) {
      results.get(name)?.push(await sendLoad(port, SECRET, bodies(ACKS), ACK_CONCURRENCY));
    }
  }
  await receiver.stop();
  const of = (name: string, pick: (result: LoadResult) => number): number =>
    median((results.get(name) ?? []).map(pick));
  say(
    `\nacknowledgements: ${ACKS} signed events, ${ACK_CONCURRENCY} at a time, median of ${ROUNDS} interleaved rounds`,
  );
  for (const name of Object.keys(ports)) {
    const perSecond = of(name, (result) => result.perSecond);
    const ratio = perSecond / of('oncehook', (result) => result.perSecond);
    say(
      `  ${name.padEnd(18)} ${perSecond.toFixed(0).padStart(6)}/s  p50 ${of(name, (r) => r.p50Ms).toFixed(1)} ms  p99 ${of(name, (r) => r.p99Ms).toFixed(1)} ms  throughput x${ratio.toFixed(2)} of oncehook`,
    );
  }
});

it('receipt to done', { timeout: 600_000 }, async () => {
  const ours = await measureOurs();
  const theirs = await measureTextbook();
  say(`\nreceipt to done, mail included: ${EVENTS} paid orders, ${EVENT_CONCURRENCY} deliveries at a time, one worker`);
  say(`  oncehook           ${ours.toFixed(1)} events/s`);
  say(`  textbook workflow  ${theirs.toFixed(1)} events/s (two activities, no inbox, no guard, no key)`);
  say(`  ratio              x${(ours / theirs).toFixed(2)} of the textbook`);
});

async function measureOurs(): Promise<number> {
  const env = serviceEnv(`bench-${token()}`);
  const services: ServiceProcess[] = await Promise.all([startService('receiver', env), startService('worker', env)]);
  for (const service of services) service.ignoreLog();
  const payloads = await payloadsWithOrders();
  const begun = performance.now();
  await sendLoad(services[0]!.port, SECRET, payloads, EVENT_CONCURRENCY);
  await untilPaid(`select count(*)::integer as n from oncehook.operations where status = 'confirmed'`);
  const perSecond = EVENTS / ((performance.now() - begun) / 1_000);
  await Promise.all(services.map((service) => service.stop()));
  return perSecond;
}

async function measureTextbook(): Promise<number> {
  const taskQueue = `bench-textbook-${token()}`;
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  await database.pool.query('create table textbook_mails (order_id text)');
  const transport = createTransport(sink.url);
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('./textbook-workflow.ts', import.meta.url)),
    activities: {
      payOrder: async (orderId: string) => {
        await database.pool.query(`update oncehook.orders set status = 'paid', paid_at = now() where id = $1`, [
          orderId,
        ]);
      },
      sendMail: async (orderId: string) => {
        await transport.sendMail({
          from: 'shop@example.com',
          to: 'a@example.com',
          subject: `Paid ${orderId}`,
          text: 'Paid',
        });
        await database.pool.query('insert into textbook_mails values ($1)', [orderId]);
      },
    },
  });
  const running = worker.run();
  const port = await startPeer('textbook', taskQueue);
  const payloads = await payloadsWithOrders();
  const begun = performance.now();
  await sendLoad(port, SECRET, payloads, EVENT_CONCURRENCY);
  await untilPaid('select count(*)::integer as n from textbook_mails');
  const perSecond = EVENTS / ((performance.now() - begun) / 1_000);
  worker.shutdown();
  await running;
  await connection.close();
  return perSecond;
}

async function payloadsWithOrders(): Promise<string[]> {
  return Promise.all(
    Array.from({ length: EVENTS }, async () => JSON.stringify(paymentEvent(await registerOrder(database)))),
  );
}

async function untilPaid(sql: string): Promise<void> {
  await until(
    'all are paid and mailed',
    async () => (await database.rows<{ n: number }>(sql))[0]!.n >= EVENTS,
    300_000,
  );
}

/** What Temporal bills as an action, by event type (docs.temporal.io/cloud/actions). */
const ACTIONS = new Set([
  'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED',
  'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED',
  'EVENT_TYPE_TIMER_STARTED',
  'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED',
  'EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
]);

it('cost in Temporal', () => {
  say('\ncost in Temporal, read from recorded histories (a duplicate delivery and an ignored type cost nothing)');
  for (const file of readdirSync(HISTORIES).sort()) {
    const { history } = JSON.parse(readFileSync(new URL(file, HISTORIES), 'utf8')) as RecordedHistory;
    const { events } = history as { readonly events: readonly { readonly eventType: string }[] };
    const actions = events.filter(({ eventType }) => ACTIONS.has(eventType)).length;
    say(
      `  ${file.replace('.json', '').padEnd(36)} ${String(actions).padStart(2)} actions  ${String(events.length).padStart(2)} history events`,
    );
  }
});

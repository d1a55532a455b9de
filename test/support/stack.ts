import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { expect, inject, type TestContext } from 'vitest';
import type { CheckpointMode, CheckpointName } from '../../src/checkpoints.js';
import { workflowIdForEvent } from '../../src/domain/event.js';
import { sha256Hex } from '../../src/sha256.js';
import { openDatabase, type TestDatabase } from './database.js';
import { collectEvidence, watchTransitions, type Evidence } from './evidence.js';
import { paymentEvent, registerOrder, type PaymentEvent } from './payment-event.js';
import { createServiceGroup, type Role } from './service-group.js';
import type { ServiceProcess } from './service-process.js';
import { startSmtpSink, type SmtpSink } from './smtp-sink.js';
import { createStripeSender, type StripeSender } from './stripe-sender.js';
import { openTempDir } from './temp-dir.js';
import { violationsIn } from './violations.js';

export interface StackOptions {
  /** Policy of the mail that confirms an order; `resend` by default. */
  readonly mail?: Evidence['mail'];
  /** Of a server of the test's own; a database on the shared server by default. Dropped with the stack. */
  readonly database?: TestDatabase;
  /** A Temporal server of the test's own; the shared one by default. */
  readonly temporalAddress?: string;
  /** Further blocks of the configuration file. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Further keys of the source. */
  readonly source?: Readonly<Record<string, unknown>>;
  /** How long the sender waits for an answer, in milliseconds. */
  readonly senderPatienceMs?: number;
}

export interface StartOptions {
  readonly checkpoint?: `${CheckpointName}:${CheckpointMode}`;
  readonly env?: Readonly<Record<string, string>>;
  /** Of another version's build. */
  readonly root?: string;
}

/** All of oncehook as processes of its own, with everything around it, for one test. */
export interface Stack {
  readonly account: string;
  readonly scope: string;
  readonly database: TestDatabase;
  readonly sink: SmtpSink;
  readonly sender: StripeSender;
  readonly temporal: Client;
  readonly taskQueue: string;
  /** What a process of this stack, or a command, is started with. */
  readonly env: Readonly<Record<string, string>>;
  start(role: Role, options?: StartOptions): Promise<ServiceProcess>;
  /** An event that pays a freshly registered order. */
  payment(): Promise<PaymentEvent>;
  run(event: { readonly id: string }): WorkflowHandle;
  evidence(): Promise<Evidence>;
  /** Waits until nothing in the evidence contradicts the promises; names what still does when time is up. */
  untilSound(patienceMs?: number): Promise<Evidence>;
  /** Ends every process of the stack and drops its database. */
  close(): Promise<void>;
}

export const SECRET = 'whsec_0123456789abcdef_of_the_stack';

/** What the fastest recovery needs is 15 s (a dead worker's activity) or 30 s (a dead sweeper's claim). */
const SOUND_WITHIN_MS = 120_000;

const LOOK_EVERY_MS = 500;

/**
 * Opens a stack for one test, which is closed when the test is over however it ended: a test that ran out of time may
 * still be in the middle of something.
 */
export async function stackFor(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  options: StackOptions = {},
): Promise<Stack> {
  const stack = await openStack(options);
  onTestFinished(() => stack.close());
  return stack;
}

export async function openStack(options: StackOptions = {}): Promise<Stack> {
  const { mail = 'resend', temporalAddress = inject('temporalAddress') } = options;
  const name = randomBytes(6).toString('hex');
  const account = `acct_${name}`;
  const taskQueue = `stack-${name}`;
  const dir = openTempDir();
  const database = options.database ?? (await openDatabase());
  await watchTransitions(database);
  const sink = await startSmtpSink(join(dir, 'mails.jsonl'));
  const connection = await Connection.connect({ address: temporalAddress });
  const temporal = new Client({ connection });
  const services = createServiceGroup();
  const sender = createStripeSender({
    secret: SECRET,
    ports: services.ports,
    ...(options.senderPatienceMs === undefined ? {} : { patienceMs: options.senderPatienceMs }),
  });
  const configFile = join(dir, 'oncehook.yaml');
  writeFileSync(configFile, configText(account, mail, options));
  const env = {
    ONCEHOOK_CONFIG: configFile,
    STRIPE_WEBHOOK_SECRET: SECRET,
    DATABASE_URL: database.url,
    SMTP_URL: sink.url,
    EMAIL_FROM: 'The Shop <shop@example.com>',
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_TASK_QUEUE: taskQueue,
  };
  const evidence = (): Promise<Evidence> => collectEvidence({ mail, database, sink, sender, temporal, taskQueue });
  const scope = `stripe:${account}:test`;

  return {
    account,
    scope,
    database,
    sink,
    sender,
    temporal,
    taskQueue,
    env,
    start: (role, { checkpoint, env: more = {}, root } = {}) => {
      const point = checkpoint === undefined ? {} : { ONCEHOOK_CHECKPOINT: checkpoint };
      return services.start(role, { ...env, ...point, ...more }, root);
    },
    payment: async () => paymentEvent(await registerOrder(database)),
    run: ({ id }) => temporal.workflow.getHandle(workflowIdForEvent({ scope, eventId: id }, sha256Hex)),
    evidence,
    untilSound: async (patienceMs = SOUND_WITHIN_MS) => {
      const deadline = performance.now() + patienceMs;
      for (;;) {
        const seen = await evidence();
        const violations = violationsIn(seen);
        if (violations.length === 0) return seen;
        if (performance.now() > deadline) expect(violations, `after ${patienceMs} ms`).toEqual([]);
        await sleep(LOOK_EVERY_MS);
      }
    },
    close: async () => {
      sender.stop();
      await services.close();
      await sink.kill();
      await connection.close();
      await database.drop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** JSON is YAML. */
function configText(account: string, mail: string, { config, source }: StackOptions): string {
  const stripe = { kind: 'stripe', secrets: ['${STRIPE_WEBHOOK_SECRET}'], account, ...source };
  return JSON.stringify({ version: 1, sources: { stripe }, email: { orderPaid: mail }, ...config });
}

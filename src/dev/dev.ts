import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runDemo } from './demo.js';
import { runOrderDemo } from './demo-orders.js';
import { approvalHint, demoTable, orderTable, serversEnvironment, serversGuide, stackGuide } from './describe-stack.js';
import { openDevDir, type DevDir } from './dev-dir.js';
import { createTemporalClient, loadTemporalSettings } from '../temporal/connect.js';
import { createWorkflowStarts } from '../temporal/workflow-starts.js';
import { readDevSettings, type DevSettings } from './dev-settings.js';
import { startServers, startStack, type Servers, type ServersOptions, type Stack } from './stack.js';
import { openStripeAccount } from './stripe-account.js';

/** For one call to Temporal, in milliseconds. */
const WAKE_DEADLINE_MS = 10_000;

/** In the stack's folder: what an application reads to find the servers. */
const ENV_FILE = 'servers.env';

/** A second signal this soon is the same Ctrl-C: npm passes on what the terminal has sent to us already. */
const SAME_SIGNAL_MS = 1500;

export interface DevOptions {
  readonly demo: boolean;
  /** Only what an application needs that has receiver and worker in itself. */
  readonly servers: boolean;
}

/**
 * What `oncehook dev` and `npm start` do: the whole stack, then the demonstration unless `demo` is false; it stays up until SIGINT,
 * SIGTERM or SIGHUP. True when it ended because it was told to, false when a part could not be kept running.
 * @throws DevStackError and ConfigError, whose messages are for the person at the terminal.
 */
export async function runDev({ demo, servers }: DevOptions): Promise<boolean> {
  process.stdout.on('error', () => undefined); // the terminal was closed; there is still a stack to stop
  const told = listenForStop();
  const hopeless = new AbortController();
  const dir = openDevDir(process.env.ONCEHOOK_DEV_DIR ?? '');
  try {
    for (const name of ['DATABASE_URL', 'SMTP_URL']) {
      if ((process.env[name] ?? '') !== '') say(`${name} is not used here: the stack has its own`);
    }
    if (servers) await runServers(dir, told, hopeless);
    else await runStack(await readDevSettings(process.env, dir), dir, demo, told, hopeless);
  } catch (error) {
    const isBrokenOff = error instanceof Error && error.name === 'AbortError';
    if (!isBrokenOff) throw error;
    say('stopped before it was up');
  } finally {
    dir.release();
  }
  return told.aborted;
}

async function runStack(
  settings: DevSettings,
  dir: DevDir,
  demo: boolean,
  told: AbortSignal,
  hopeless: AbortController,
): Promise<void> {
  const common = commonOptions(dir, told, hopeless);
  const stack = await startStack({ ...common, ...settings });
  await untilToldToStop(stack, common.signal, async () => {
    const replayId = demo ? await demonstrate(stack, settings, common.signal) : undefined;
    return stackGuide(stack, settings, dir.path, replayId);
  });
}

async function runServers(dir: DevDir, told: AbortSignal, hopeless: AbortController): Promise<void> {
  const common = commonOptions(dir, told, hopeless);
  const servers = await startServers({ ...common, env: process.env });
  const envFile = join(dir.path, ENV_FILE);
  // The database's password is in it.
  writeFileSync(envFile, serversEnvironment(servers), { mode: 0o600 });
  await untilToldToStop(servers, common.signal, () => Promise.resolve(serversGuide(servers, envFile)));
}

function commonOptions(
  dir: DevDir,
  told: AbortSignal,
  hopeless: AbortController,
): Pick<ServersOptions, 'dir' | 'onProgress' | 'onHopeless' | 'signal'> {
  return {
    dir,
    onProgress: say,
    onHopeless: (line) => {
      say(`${line}: stopping. The logs are in ${relative('', dir.path)}.`);
      hopeless.abort();
    },
    signal: AbortSignal.any([told, hopeless.signal]),
  };
}

/** Shows what `guide` has to say of what runs, and stops it when told to. */
async function untilToldToStop(
  running: Servers,
  signal: AbortSignal,
  guide: () => Promise<readonly string[]>,
): Promise<void> {
  try {
    print(['', ...(await guide()), '']);
    say('running; Ctrl-C stops everything');
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await running.stop();
    say('stopped');
  }
}

/** The ID of the workflow that waits for an operator, if one does. */
async function demonstrate(
  stack: Stack,
  { demoSource, taskQueue }: DevSettings,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (demoSource === undefined) {
    say('no demonstration: the configuration has no source "stripe" of test events for the orders handlers');
    return undefined;
  }
  say('sending signed events to ourselves');
  const { receiverUrl, databaseUrl, temporal, stripeBase } = stack;
  const webhookUrl = `${receiverUrl}/webhooks/stripe`;
  const results = await runDemo({ webhookUrl, databaseUrl, signal, ...demoSource });
  print(['', ...demoTable(results, temporal)]);
  if (stripeBase === undefined) {
    say('no orders with refunds and disputes: they are shown with our own stand-in only, not with your Stripe account');
  } else {
    say('letting customers pay, and pay again, and want their money back');
    const stripe = openStripeAccount(stripeBase, signal);
    const { client, close } = createTemporalClient(loadTemporalSettings(temporal.env));
    const { wakeOperation: wake } = createWorkflowStarts({ client, taskQueue, deadlineMs: WAKE_DEADLINE_MS });
    const stories = await runOrderDemo({ stripe, webhookUrl, databaseUrl, wake, signal, ...demoSource }).finally(close);
    print(['', ...orderTable(stories), '', ...approvalHint(stories, databaseUrl)]);
  }
  return results.find(({ event }) => event.status === 'quarantined')?.workflowId;
}

/** Aborted at the first signal; whoever sends another one later has lost patience. */
function listenForStop(): AbortSignal {
  const stop = new AbortController();
  let firstAt = 0;
  const onSignal = (): void => {
    if (firstAt === 0) {
      firstAt = Date.now();
      say('stopping');
      stop.abort();
    } else if (Date.now() - firstAt > SAME_SIGNAL_MS) {
      say('leaving at once; the next start cleans up');
      process.exit(1);
    }
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal);
  return stop.signal;
}

function say(line: string): void {
  print([`[oncehook] ${line}`]);
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

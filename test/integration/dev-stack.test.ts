import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { freePort } from '../../src/dev/ports.js';
import { removeCluster } from '../../src/dev/postgres-cluster.js';
import { isAlive, killWithChildren, processesNaming, processesWorkingIn } from '../../src/dev/processes.js';
import { compiled, ROOT } from '../support/dist.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

/** `oncehook dev` as a person starts it, and what it has printed so far. */
class DevRun {
  output = '';
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;

  constructor(env: Readonly<Record<string, string>>, args: readonly string[]) {
    this.child = spawn(process.execPath, [compiled('src/main/cli.js'), 'dev', ...args], {
      cwd: ROOT,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        TEMPORAL_CLI_PATH: inject('temporalCli'),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (text: Buffer) => (this.output += text.toString()));
    }
    this.exited = once(this.child, 'close').then(([code]) => code as number | null);
  }

  /** Resolves when it has printed this; fails when it ends before. */
  async printed(text: string): Promise<void> {
    while (!this.output.includes(text)) {
      const more = once(this.child.stdout!, 'data').then(() => true);
      const ended = this.exited.then(() => this.output.includes(text));
      if (!(await Promise.race([more, ended]))) throw new Error(`ended before it printed "${text}":\n${this.output}`);
    }
  }

  async running(): Promise<void> {
    await this.printed('running; Ctrl-C stops everything');
  }

  /** As npm and the terminal do it: both send the signal. */
  async interrupt(): Promise<number | null> {
    this.child.kill('SIGINT');
    this.child.kill('SIGINT');
    return this.exited;
  }

  /** What follows this word at the beginning of a line. */
  line(word: string): string {
    return new RegExp(`^${word} +(.*)$`, 'm').exec(this.output)?.[1] ?? '';
  }
}

let base: string;
let dir: string;
let env: Record<string, string>;
let runs: DevRun[];

beforeAll(async () => {
  base = openTempDir();
  dir = join(base, 'stack');
  const [port, adminPort] = await twoNeighbours();
  env = { ONCEHOOK_DEV_DIR: dir, PORT: String(await freePort()), ADMIN_PORT: String(adminPort) };
  expect(port).not.toBe(adminPort);
  runs = [];
});

afterEach(async () => {
  for (const run of runs) {
    if (run.child.exitCode === null && run.child.signalCode === null) await run.interrupt();
  }
  runs = [];
});

afterAll(async () => {
  for (const pid of leftOvers()) await killWithChildren(pid);
  removeCluster(join(dir, 'postgres'));
  removeDir(base);
});

/** The worker's metrics take the port after the receiver's. */
async function twoNeighbours(): Promise<[number, number]> {
  for (;;) {
    const port = await freePort();
    const probe = createServer();
    const isFree = once(probe.listen(port + 1, '127.0.0.1'), 'listening').then(
      () => true,
      () => false,
    );
    const free = await isFree;
    probe.close();
    if (free) return [port - 1, port];
  }
}

function dev(args: readonly string[] = [], more: Record<string, string> = {}): DevRun {
  const run = new DevRun({ ...env, ...more }, args);
  runs.push(run);
  return run;
}

/** Processes of this stack, wherever they were started. */
function leftOvers(): number[] {
  const services = ['receiver', 'worker'].flatMap((role) => pidOf(role));
  const data = processesWorkingIn(join(dir, 'postgres/data'));
  return [...services, ...data, ...processesNaming(dir)].filter(isAlive);
}

function pidOf(role: string): number[] {
  const file = join(dir, `${role}.pid`);
  return existsSync(file) ? [Number.parseInt(readFileSync(file, 'utf8'), 10)] : [];
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
    return rows.flat();
  } finally {
    await client.end();
  }
}

/** Of one demonstration: every paid order's, and one for each refund that succeeded. */
const MAILS = 12;

/** What the stand-in executed, by its own account, however often it was asked. */
function effectsAtStripe(): Record<string, number> {
  const counts: Record<string, number> = {};
  const lines = readFileSync(join(dir, 'stripe-effects.jsonl'), 'utf8').trim().split('\n');
  for (const line of lines) {
    const { effect } = JSON.parse(line) as { readonly effect: string };
    counts[effect] = (counts[effect] ?? 0) + 1;
  }
  return counts;
}

/** The second table without its last column: order, status, captured, refunded, notice. */
function orderRows(output: string): string[][] {
  const lines = output.split('\n');
  const head = lines.findIndex((line) => line.startsWith('ORDER '));
  const rows = lines.slice(head + 1, lines.indexOf('', head));
  return rows.map((row) => row.split(/ {2,}/).slice(0, 5));
}

describe('oncehook dev', { timeout: 180_000 }, () => {
  test('starts everything, demonstrates, and stops cleanly at Ctrl-C', async () => {
    const run = dev();
    await run.running();
    const rows = run.output.split('\n').filter((line) => / http:\S+\/workflows\/webhook:/.test(line));
    const cells = rows.map((row) => row.split(/ {2,}/));
    expect(cells.map((row) => row.slice(0, 5))).toEqual([
      ['a payment that succeeds', '200 accepted', 'done/applied', 'paid', 'email:order-paid confirmed'],
      [
        'the same delivery five times at once',
        '200 accepted, 4 x 200 duplicate',
        'done/applied',
        'paid',
        'email:order-paid confirmed',
      ],
      ['a payment of another amount than its order', '200 accepted', 'quarantined/underpaid', 'awaiting_payment', '-'],
      ['a type that nobody handles', '200 accepted', 'done/ignored', '-', '-'],
    ]);
    for (const row of cells) {
      const link = new URL(row[5]!);
      expect((await fetch(link)).status).toBe(200);
      const api = await fetch(new URL(`/api/v1${link.pathname}`, link));
      expect(await api.json()).toMatchObject({ workflowExecutionInfo: { type: { name: 'processWebhookEvent' } } });
    }
    expect(orderRows(run.output)).toEqual([
      [
        'paid after it was canceled: the refund is proposed, approved, made once',
        'canceled',
        '0.00 USD',
        '0.00 USD',
        '-',
      ],
      ['paid twice: the second payment waits to be refunded', 'paid', '42.00 USD', '0.00 USD', '-'],
      ['refunded in part, then in full', 'refunded', '42.00 USD', '42.00 USD', '-'],
      [
        'refunded, and the refund fails later: held for a person',
        'paid',
        '42.00 USD',
        '0.00 USD',
        'held: refund_failed',
      ],
      ["disputed at the customer's bank", 'paid', '42.00 USD', '0.00 USD', 'dispute open'],
      ['the refund is heard of before the payment', 'partially_refunded', '42.00 USD', '10.00 USD', '-'],
    ]);
    expect(run.output).toMatch(/npx oncehook operations approve 'refund:surplus:default:pi_\w+'/);
    expect(effectsAtStripe()).toEqual({ payment: 7, refund: 5 });
    expect(readdirSync(join(dir, 'mail'))).toHaveLength(MAILS);
    expect((await fetch(run.line('ready'))).status).toBe(200);
    for (const url of run.line('metrics').match(/http:\S+/g)!) expect((await fetch(url)).status).toBe(200);

    expect(await run.interrupt()).toBe(0);
    expect(leftOvers()).toEqual([]);
  });

  test('starts again on the same data with fresh IDs', async () => {
    const run = dev();
    await run.running();
    const counted = await query(
      run.line('database'),
      `select count(*)::int, count(distinct event_id)::int from oncehook.webhook_inbox where event_id like 'evt_demo_%'`,
    );
    expect(counted).toEqual([8, 8]);
    expect(readdirSync(join(dir, 'mail'))).toHaveLength(2 * MAILS);
  });

  test('the printed replay line sends the quarantined event on its way again', async () => {
    const run = dev();
    await run.running();
    const command = run.line('replay');
    const eventId = /evt_demo_\w+/.exec(command)![0];
    await query(
      run.line('database'),
      `update oncehook.orders set total_minor = 4200 where id = 'order_${eventId.slice(4)}'`,
    );
    const shell = spawn('/bin/sh', ['-c', command], { stdio: 'ignore' });
    expect((await once(shell, 'exit'))[0]).toBe(0);
    await expect
      .poll(
        () => query(run.line('database'), `select status from oncehook.webhook_inbox where event_id = '${eventId}'`),
        { timeout: 20_000 },
      )
      .toEqual(['done']);
  });

  test('starts after SIGKILL of everything', async () => {
    const killed = dev(['--no-demo']);
    await killed.running();
    const pids = [killed.child.pid!, ...leftOvers()];
    expect(pids.length).toBeGreaterThan(8); // ourselves, two services, Temporal, the postmaster and its children
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await killed.exited;
    const run = dev();
    await run.running();
    expect(run.output).toContain('done/applied');
    expect(await run.interrupt()).toBe(0);
    expect(leftOvers()).toEqual([]);
  });

  test('takes over the servers and replaces the services when only it was killed', async () => {
    const killed = dev(['--no-demo']);
    await killed.running();
    const services = ['receiver', 'worker'].flatMap(pidOf);
    killed.child.kill('SIGKILL');
    await killed.exited;
    expect(services.every(isAlive)).toBe(true);
    const run = dev(['--no-demo']);
    await run.running();
    expect(run.output).toContain('taking over PostgreSQL');
    expect(run.output).toContain('taking over the Temporal server');
    expect(services.some(isAlive)).toBe(false);
    expect(run.line('database')).toBe(killed.line('database'));
  });

  test('starts each part again that ends by itself, at the same place', async () => {
    const run = dev(['--no-demo']);
    await run.running();
    const postmaster = Number(readFileSync(join(dir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]);
    const [temporal] = processesNaming(`--db-filename ${join(dir, 'temporal/temporal.db')}`);
    for (const [name, pid] of [
      ['receiver', pidOf('receiver')[0]!],
      ['worker', pidOf('worker')[0]!],
      ['Temporal', temporal!],
      ['PostgreSQL', postmaster],
    ] as const) {
      process.kill(pid, 'SIGKILL');
      await run.printed(`${name} runs again`);
    }
    await expect.poll(async () => (await fetch(run.line('ready'))).status, { timeout: 20_000 }).toBe(200);
    expect(await query(run.line('database'), 'select 1')).toEqual([1]);
  });

  test('runs once in a folder: a second start says who has it, and harms nothing', async () => {
    const first = dev(['--no-demo']);
    await first.running();
    const second = dev(['--no-demo']);
    expect(await second.exited).toBe(1);
    expect(second.output).toMatch(
      new RegExp(
        `^oncehook: A local stack runs in ${dir} already \\(process ${first.child.pid}\\): stop it first.*\n$`,
      ),
    );
    expect((await fetch(first.line('ready'))).status).toBe(200);
  });

  test('is told to stop in the middle of a start', async () => {
    const run = dev();
    await run.printed('PostgreSQL 18 ready');
    expect(await run.interrupt()).toBe(0);
    expect(leftOvers()).toEqual([]);
  });
});

describe('oncehook dev says in one line what to do', { timeout: 120_000 }, () => {
  async function complaint(more: Record<string, string>): Promise<string> {
    const run = dev([], more);
    expect(await run.exited).toBe(1);
    expect(leftOvers()).toEqual([]);
    return run.output
      .split('\n')
      .filter((line) => line.startsWith('oncehook: '))
      .join('\n');
  }

  test('when its port is in use', async () => {
    const occupier = createServer().listen(Number(env.PORT), '127.0.0.1');
    await once(occupier, 'listening');
    expect(await complaint({})).toBe(
      `oncehook: Port ${env.PORT}, wanted for the receiver, is in use: stop what listens there, or set PORT to another one.`,
    );
    occupier.close();
  });

  test('when nothing answers at TEMPORAL_ADDRESS', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    expect(await complaint({ TEMPORAL_ADDRESS: address })).toMatch(
      new RegExp(
        `^oncehook: No Temporal with namespace "default" answers at TEMPORAL_ADDRESS ${address}: start it, or unset`,
      ),
    );
  });

  test('when no Temporal CLI can be had', async () => {
    // Neither the download (no network for it), nor Go, nor a program on the PATH.
    const nothing = {
      TEMPORAL_CLI_PATH: '/nonexistent',
      XDG_CACHE_HOME: join(base, 'empty'),
      PATH: '/usr/bin:/bin',
      HTTPS_PROXY: 'http://127.0.0.1:1',
    };
    expect(await complaint(nothing)).toMatch(
      /^oncehook: No Temporal CLI to run a local server with \(.*Go is not installed\): install Go, /,
    );
  });

  test('when the configuration is wrong, before anything is started', async () => {
    const run = dev([], { EMAIL_FROM: 'nobody', STRIPE_WEBHOOK_SECRET: 'whsec_' });
    expect(await run.exited).toBe(2);
    expect(run.output).toMatch(/EMAIL_FROM/);
    expect(run.output).toMatch(/STRIPE_WEBHOOK_SECRET/);
    expect(run.output).not.toContain('PostgreSQL');
  });

  test('when its folder cannot be made', async () => {
    const file = join(base, 'a-file');
    writeFileSync(file, '');
    expect(await complaint({ ONCEHOOK_DEV_DIR: join(file, 'stack') })).toMatch(
      /cannot be written: set ONCEHOOK_DEV_DIR/,
    );
  });
});

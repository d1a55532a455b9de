import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startPostgres, type PostgresOptions, type RunningPostgres } from '../../src/dev/postgres.js';
import { removeCluster } from '../../src/dev/postgres-cluster.js';
import { childrenOf, isAlive, processesWorkingIn, signalProcess, waitUntilGone } from '../../src/dev/processes.js';
import { compiled } from '../support/dist.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

const isRoot = process.getuid?.() === 0;
const ORDINARY_USER = 65_534;
/** Most tests here are not about the disk. */
const QUICK = { fsync: 'off' };

let base: string;
let running: RunningPostgres[];

beforeEach(() => {
  base = openTempDir();
  running = [];
});

afterEach(async () => {
  for (const server of running) await server.kill();
  for (const name of readdirSync(base)) removeCluster(join(base, name));
  removeDir(base);
});

async function start(options: Partial<PostgresOptions> = {}): Promise<RunningPostgres> {
  const server = await startPostgres({ dir: join(base, 'pg'), settings: QUICK, ...options });
  running.push(server);
  return server;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    // One column a row in every query here.
    const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
    return rows.flat();
  } finally {
    await client.end();
  }
}

/** A process that starts a server by the compiled code, prints what it got, and stays. */
async function startElsewhere(
  dir: string,
  asUser?: number,
): Promise<{ holder: ChildProcess; pid: number; url: string }> {
  const script = `
    const { startPostgres } = await import(process.argv[1]);
    const server = await startPostgres({ dir: process.argv[2], settings: { fsync: 'off' } });
    console.log(JSON.stringify({ pid: server.pid, url: server.url() }));
    setInterval(() => {}, 1e6);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script, compiled('src/dev/postgres.js'), dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, HOME: '/nonexistent' },
    ...(asUser === undefined ? {} : { uid: asUser, gid: asUser }),
  });
  const first = await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit').then(() => undefined)]);
  if (first === undefined) throw new Error('the starting process ended early');
  return { holder, ...(JSON.parse(String(first[0])) as { pid: number; url: string }) };
}

async function killHard(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('a local PostgreSQL', () => {
  test('is version 18, UTF-8 with locale C, durable, on loopback only, in a session of its own', async () => {
    const server = await start({ settings: {} });
    const settings = ['server_version', 'server_encoding', 'lc_collate', 'lc_ctype', 'fsync', 'full_page_writes'];
    const shown = `select current_setting(name, true) from unnest($$\{${settings.join(',')}}$$::text[]) with ordinality s(name, n) order by n`;
    const [version, ...rest] = await query(server.url(), shown);
    expect(version).toMatch(/^18\./);
    expect(rest.filter((value) => value !== null)).toEqual(['UTF8', 'on', 'on']);
    expect(
      await query(server.url(), 'select datcollate || datctype from pg_database where datname = current_database()'),
    ).toEqual(['CC']);
    expect(await query(server.url(), 'show listen_addresses')).toEqual(['127.0.0.1']);
    expect(await query(server.url(), 'show unix_socket_directories')).toEqual(['']);
    const session = await sessionOf(server.pid);
    expect(session).not.toBe(await sessionOf(process.pid));
  });

  test('wants its password, which only its owner can read', async () => {
    const server = await start();
    const url = new URL(server.url());
    url.password = 'guess';
    await expect(query(url.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    expect(statSync(join(base, 'pg/password')).mode & 0o777).toBe(0o600);
  });

  test('stops when told and starts again with its data, on its old port', async () => {
    const first = await start();
    await query(first.url(), 'create table kept as select 7 as n');
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);
    const second = await start();
    expect(second).toMatchObject({ port: first.port, takenOver: false });
    expect(await query(second.url(), 'select n from kept')).toEqual([7]);
  });

  test('comes back with every committed row after SIGKILL of the whole server', async () => {
    const first = await start({ settings: {} });
    await query(first.url(), 'create table kept as select 7 as n');
    const children = childrenOf(first.pid);
    expect(children.length).toBeGreaterThan(3);
    await first.kill();
    expect([first.pid, ...children].some(isAlive)).toBe(false);
    const second = await start();
    expect(await query(second.url(), 'select n from kept')).toEqual([7]);
  });

  test('starts although children of a killed postmaster still hold its memory', async () => {
    const first = await start();
    const busy = new Client({ connectionString: first.url() });
    busy.on('error', () => undefined);
    await busy.connect();
    const pid = Number((await busy.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid);
    signalProcess(pid, 'SIGSTOP'); // a child that does not notice the death of its parent
    signalProcess(first.pid, 'SIGKILL');
    await waitUntilGone([first.pid], 5000);
    expect(processesWorkingIn(first.dataDir)).toContain(pid);
    await first.kill(); // gives the directory free
    const second = await start();
    expect(await query(second.url(), 'select 1')).toEqual([1]);
    expect(isAlive(pid)).toBe(false);
  });

  test('is not fooled by a pid file whose number is another program by now', async () => {
    const first = await start();
    await first.kill();
    const { uid, gid } = statSync(first.dataDir);
    const neighbour = spawn('sleep', ['1000'], { stdio: 'ignore', ...(isRoot ? { uid, gid } : {}) });
    try {
      writeFileSync(
        join(first.dataDir, 'postmaster.pid'),
        `${neighbour.pid}\n${first.dataDir}\n1\n${first.port}\n\n127.0.0.1\n1 1\nready   \n`,
      );
      const second = await start();
      expect(second.takenOver).toBe(false);
      expect(neighbour.exitCode).toBeNull();
    } finally {
      neighbour.kill();
    }
  });

  test('takes other settings when told, and a server left behind with other settings is not taken over', async () => {
    const dir = join(base, 'pg');
    const left = await startElsewhere(dir);
    await killHard(left.holder);
    const server = await start({ settings: { work_mem: '8MB' } });
    expect(server.takenOver).toBe(false);
    expect(isAlive(left.pid)).toBe(false);
    expect(await query(server.url(), 'show work_mem')).toEqual(['8MB']);
  });

  test('left behind by a killed start is taken over as it is', async () => {
    const left = await startElsewhere(join(base, 'pg'));
    await killHard(left.holder);
    expect(isAlive(left.pid)).toBe(true);
    const server = await start();
    expect(server).toMatchObject({ pid: left.pid, takenOver: true });
    expect(server.url()).toBe(left.url);
  });

  test('belongs to one living process: a second start says whose it is', async () => {
    const first = await startElsewhere(join(base, 'pg'));
    try {
      await expect(start()).rejects.toThrow(`belongs to process ${first.holder.pid}`);
      expect(await query(first.url, 'select 1')).toEqual([1]);
    } finally {
      await killHard(first.holder);
      await start();
    }
  });

  test('has one line for a demanded port that is taken', async () => {
    const occupier = createServer().listen(0, '127.0.0.1');
    await once(occupier, 'listening');
    const address = occupier.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(start({ port })).rejects.toThrow(`Port ${port}, wanted for PostgreSQL, is in use`);
    occupier.close();
  });

  test("has one line with the server's own words when a setting is wrong", async () => {
    await expect(start({ settings: { shared_buffers: 'plenty' } })).rejects.toThrow(
      /did not start \(.*shared_buffers.*\): see /,
    );
  });

  test('two starts at once from an empty cache both succeed, each with its own data', async () => {
    const cache = join(base, 'cache');
    mkdirSync(cache);
    const env = { ...process.env, XDG_CACHE_HOME: cache };
    const both = await Promise.all(['a', 'b'].map((name) => start({ dir: join(base, name), env })));
    expect(both[0]?.binDir).toBe(both[1]?.binDir);
    expect(both[0]?.binDir.startsWith(cache)).toBe(true);
    expect(readdirSync(join(cache, 'oncehook'))).toHaveLength(1);
    for (const server of both) expect(await query(server.url(), 'select 1')).toEqual([1]);
  });
});

describe.runIf(isRoot)('a local PostgreSQL of root', () => {
  test('runs as nobody, with its data in place when that user can enter', async () => {
    const server = await start();
    expect(statSync(`/proc/${server.pid}`).uid).toBe(statSync(server.dataDir).uid);
    expect(statSync(server.dataDir).uid).not.toBe(0);
    expect(server.dataDir).toBe(join(base, 'pg/data'));
  });

  test('works under a closed folder: the data lies elsewhere and is found again', async () => {
    chmodSync(base, 0o700);
    const first = await start();
    expect(first.dataDir.startsWith(base)).toBe(false);
    await query(first.url(), 'create table kept as select 7 as n');
    await first.stop();
    const second = await start();
    expect(second.dataDir).toBe(first.dataDir);
    expect(await query(second.url(), 'select n from kept')).toEqual([7]);
    await second.stop();
    removeCluster(join(base, 'pg'));
    expect(existsSync(second.dataDir)).toBe(false);
  });

  test('an ordinary user without a home starts one too', async (context) => {
    const dir = join(base, 'theirs');
    mkdirSync(dir);
    chmodSync(base, 0o777);
    const reachable = spawn('test', ['-r', compiled('src/dev/postgres.js')], {
      uid: ORDINARY_USER,
      gid: ORDINARY_USER,
      cwd: '/',
    });
    const [status] = (await once(reachable, 'exit')) as [number];
    context.skip(status !== 0, 'the project lies where other users cannot read it');
    const theirs = await startElsewhere(join(base, 'ordinary'), ORDINARY_USER);
    try {
      expect(await query(theirs.url, 'select 1')).toEqual([1]);
      expect(statSync(`/proc/${theirs.pid}`).uid).toBe(ORDINARY_USER);
    } finally {
      await killHard(theirs.holder);
      signalProcess(theirs.pid, 'SIGINT');
      await waitUntilGone([theirs.pid], 10_000);
    }
  });
});

async function sessionOf(pid: number): Promise<string> {
  const ps = spawn('ps', ['-o', 'sess=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [out] = (await once(ps.stdout, 'data')) as [Buffer];
  return out.toString().trim();
}

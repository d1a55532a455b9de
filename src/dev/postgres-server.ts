import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { DevStackError } from '../errors.js';
import { isErrno } from './errno.js';
import { SUPERUSER, type Cluster, type ClusterTools } from './postgres-cluster.js';
import { commandLine, isAlive } from './processes.js';

/** How to run a server on a cluster. */
export interface ServerPlan extends ClusterTools {
  readonly cluster: Cluster;
  /** Where the server's log goes. */
  readonly dir: string;
}

/** What postmaster.pid says. */
export interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

const READY_WITHIN_MS = 120_000; // crash recovery after a long run takes its time
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

/** Starts a server and waits until it lets us in. Throws when it ends before that. */
export async function launchServer(plan: ServerPlan, port: number): Promise<PidFile> {
  const child = spawnServer(plan, port);
  const begun = Date.now();
  let nextReport = 5000;
  for (let waitedMs = 0; waitedMs < READY_WITHIN_MS; waitedMs = Date.now() - begun) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      throw new DevStackError(`PostgreSQL did not start (${lastComplaint(plan.dir)}): see ${logFile(plan.dir)}.`);
    }
    const found = readPidFile(plan.cluster.dataDir);
    const isReady = found?.pid === child.pid && found.ready; // the file may still be an older server's
    if (isReady && (await letsUsIn(port, plan.cluster))) return found;
    if (waitedMs > nextReport) {
      plan.onProgress(`waiting for PostgreSQL to be ready (${Math.round(waitedMs / 1000)} s)`);
      nextReport += 5000;
    }
    await pause(25);
  }
  child.kill('SIGQUIT');
  throw new DevStackError(`PostgreSQL was not ready within ${READY_WITHIN_MS / 1000} s: see ${logFile(plan.dir)}.`);
}

/** Whether the server on this port accepts our password, which also proves that it is the cluster's own. */
export async function letsUsIn(port: number, cluster: Cluster): Promise<boolean> {
  const client = new Client({
    connectionString: superuserUrl(port, cluster, 'postgres'),
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => undefined); // the calls report it too
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch (error) {
    if (!isErrno(error, '28P01')) return false;
    throw new DevStackError(
      'The password kept beside the local database is not its own (was a file copied or deleted?): delete the folder that holds the file "password" to start afresh.',
      { cause: error },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

export function superuserUrl(port: number, { password }: Cluster, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}

export function serverArgs(dataDir: string, port: number, settings: Readonly<Record<string, string>>): string[] {
  const all = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '', ...settings };
  return ['-D', dataDir, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** Lines of the file: process ID, data directory, start time, port, socket directory, listen address, shared memory, status. */
export function readPidFile(dataDir: string): PidFile | undefined {
  const file = pidFile(dataDir);
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1) return undefined; // still being written
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

export function pidFile(dataDir: string): string {
  return join(dataDir, 'postmaster.pid');
}

/** Not so when the process of that ID is another program by now. */
export function isPostmasterOf(pid: number, dataDir: string): boolean {
  return isAlive(pid) && commandLine(pid).includes(`postgres -D ${dataDir} `);
}

function spawnServer({ cluster, binDir, user, settings, dir }: ServerPlan, port: number): ChildProcess {
  const log = openLog(dir);
  const child = spawn(join(binDir, 'postgres'), serverArgs(cluster.dataDir, port, settings), {
    ...user,
    cwd: '/',
    detached: true, // a session of its own: Ctrl-C in our terminal must not reach it before us
    stdio: ['ignore', log, log],
    env: { PATH: process.env.PATH, TZ: process.env.TZ },
  });
  closeSync(log);
  child.once('error', () => undefined); // seen by the caller as a child without an ID
  child.unref();
  return child;
}

function openLog(dir: string): number {
  const file = logFile(dir);
  if (existsSync(file) && statSync(file).size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`);
  return openSync(file, 'a', 0o600);
}

function logFile(dir: string): string {
  return join(dir, 'server.log');
}

function lastComplaint(dir: string): string {
  const lines = readFileSync(logFile(dir), 'utf8').trimEnd().split('\n').slice(-20);
  return lines.findLast((line) => /FATAL|PANIC|error while loading/.test(line)) ?? lines.at(-1) ?? 'it said nothing';
}

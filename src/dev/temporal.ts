import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';
import { DevStackError } from '../errors.js';
import { takeLock } from './owner-lock.js';
import { accepts, isPortFree, stablePort } from './ports.js';
import { commandLine, isAlive, killWithChildren, processesNaming, stopProcess } from './processes.js';
import type { Progress } from './progress.js';
import { isTemporalReady } from './temporal-ready.js';

export interface TemporalOptions {
  /** The database file, the log and the noted ports live here; made when missing. */
  readonly dir: string;
  /** A `temporal` program, as `findTemporalCli` gives it. */
  readonly cli: string;
  /** Demanded: the start fails when it is taken. Without it: the port of last time, else the preferred, else any free one. */
  readonly port?: number;
  /** The same for the web UI. */
  readonly uiPort?: number;
  readonly preferred?: { readonly port: number; readonly uiPort: number };
  /** Further arguments of `temporal server start-dev`. */
  readonly extraArgs?: readonly string[];
  readonly onProgress?: Progress;
}

export interface RunningTemporal {
  /** For clients, host and port. */
  readonly address: string;
  readonly namespace: string;
  /** Without a slash at the end. */
  readonly uiUrl: string;
  readonly pid: number;
  /** True when it ran already, left behind by a start that was killed. */
  readonly takenOver: boolean;
  /** Finished when the server is gone. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

interface Server {
  readonly pid: number;
  readonly port: number;
  readonly uiPort: number;
}

interface Plan {
  readonly dir: string;
  readonly dbFile: string;
  readonly cli: string;
  readonly extraArgs: readonly string[];
  readonly onProgress: Progress;
}

const LOOPBACK = '127.0.0.1';
const NAMESPACE = 'default';
const READY_WITHIN_MS = 120_000;
const STOP_PATIENCE_MS = 15_000;

/**
 * Starts Temporal's development server with its web UI on loopback, on a database file, in a session of its own, and waits until it
 * can start workflows and knows our search attributes. A server that a killed start left on the same file is taken over if it answers,
 * else stopped. One live process at a time may have a directory.
 */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  const dir = resolve(options.dir);
  mkdirSync(dir, { recursive: true });
  const lock = takeLock(join(dir, 'owner'));
  if (!lock.taken) {
    throw new DevStackError(
      `The Temporal server in ${dir} belongs to process ${lock.heldBy}, which still runs: stop that first.`,
    );
  }
  try {
    const { cli, extraArgs = [], onProgress = () => undefined } = options;
    const plan = { dir, dbFile: join(dir, 'temporal.db'), cli, extraArgs, onProgress };
    const left = await takeOver(plan, options);
    const server = left ?? (await startAnew(plan, options));
    return handle(server, left !== undefined, lock.release);
  } catch (error) {
    lock.release();
    throw error;
  }
}

function handle(server: Server, takenOver: boolean, release: () => void): RunningTemporal {
  return {
    address: `${LOOPBACK}:${server.port}`,
    namespace: NAMESPACE,
    uiUrl: `http://${LOOPBACK}:${server.uiPort}`,
    pid: server.pid,
    takenOver,
    stop: async () => {
      await stopProcess(server.pid, ['SIGTERM'], STOP_PATIENCE_MS);
      release();
    },
    kill: async () => {
      await killWithChildren(server.pid);
      release();
    },
  };
}

/** No pid file is needed: the command line names the database file and the ports, and no other process has that file. */
async function takeOver(plan: Plan, demanded: TemporalOptions): Promise<Server | undefined> {
  for (const pid of processesNaming(dbFileArgs(plan).join(' '))) {
    const found = readCommandLine(pid);
    if (found === undefined) continue; // an editor, say, that has the same words in its arguments
    const answers = await isUp(found);
    if (answers && hasOurArgs(found, plan, demanded)) {
      plan.onProgress(`taking over the Temporal server (process ${pid}), which an earlier start left running`);
      return found;
    }
    plan.onProgress(`stopping the Temporal server (process ${pid}), which an earlier start left running`);
    await stopProcess(pid, ['SIGTERM'], answers ? STOP_PATIENCE_MS : 3000);
  }
  return undefined;
}

function readCommandLine(pid: number): Server | undefined {
  const match = / server start-dev .*--port (\d+) --ui-port (\d+) /.exec(commandLine(pid));
  return match === null ? undefined : { pid, port: Number(match[1]), uiPort: Number(match[2]) };
}

function hasOurArgs(found: Server, plan: Plan, { port = found.port, uiPort = found.uiPort }: TemporalOptions): boolean {
  return commandLine(found.pid).endsWith(serverArgs(plan, port, uiPort).join(' '));
}

async function startAnew(plan: Plan, demanded: TemporalOptions): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    const port = await choosePort(demanded.port, join(plan.dir, 'port'), demanded.preferred?.port);
    const uiPort = await choosePort(demanded.uiPort, join(plan.dir, 'ui-port'), demanded.preferred?.uiPort);
    try {
      return await launch(plan, port, uiPort);
    } catch (error) {
      // Somebody was quicker with a port that was free a moment ago; the server also takes some of its own choice.
      if (attempt === 3 || !String(error).includes('address already in use')) throw error;
    }
  }
}

async function choosePort(demanded: number | undefined, file: string, preferred: number | undefined): Promise<number> {
  if (demanded === undefined) return stablePort(file, preferred === undefined ? [] : [preferred]);
  if (await isPortFree(demanded)) return demanded;
  throw new DevStackError(
    `Port ${demanded}, wanted for Temporal, is in use: stop what listens there or choose another port.`,
  );
}

async function launch(plan: Plan, port: number, uiPort: number): Promise<Server> {
  const child = spawnServer(plan, port, uiPort);
  const begun = Date.now();
  let nextReport = 5000;
  for (let waitedMs = 0; waitedMs < READY_WITHIN_MS; waitedMs = Date.now() - begun) {
    const { pid } = child;
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      throw new DevStackError(`The Temporal server did not start (${lastComplaint(plan)}): see ${logFile(plan)}.`);
    }
    const server = { pid, port, uiPort };
    if (await isUp(server)) return server;
    if (waitedMs > nextReport) {
      plan.onProgress(`waiting for the Temporal server to be ready (${Math.round(waitedMs / 1000)} s)`);
      nextReport += 5000;
    }
    await pause(50);
  }
  child.kill('SIGKILL');
  throw new DevStackError(
    `The Temporal server was not ready within ${READY_WITHIN_MS / 1000} s: see ${logFile(plan)}.`,
  );
}

async function isUp({ pid, port, uiPort }: Server): Promise<boolean> {
  if (!(await accepts(port)) || !isAlive(pid)) return false;
  return (await isTemporalReady(`${LOOPBACK}:${port}`, NAMESPACE)) && (await isUiReady(uiPort));
}

/** The UI has a connection of its own to the server, tried first too early and again only after a second. */
async function isUiReady(uiPort: number): Promise<boolean> {
  const url = `http://${LOOPBACK}:${uiPort}/api/v1/namespaces/${NAMESPACE}`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status === 200;
}

function spawnServer(plan: Plan, port: number, uiPort: number): ChildProcess {
  const log = openSync(logFile(plan), 'w', 0o600); // of this run only: the server repeats itself a great deal
  const child = spawn(plan.cli, serverArgs(plan, port, uiPort), {
    cwd: '/',
    detached: true, // a session of its own: Ctrl-C in our terminal must not reach it before us
    stdio: ['ignore', log, log],
    // Not our whole environment: TEMPORAL_* variables and a profile would configure this program too.
    env: { PATH: process.env.PATH, HOME: plan.dir, TZ: process.env.TZ },
  });
  closeSync(log);
  child.once('error', () => undefined); // seen as a child without an ID
  child.unref();
  return child;
}

function serverArgs(plan: Plan, port: number, uiPort: number): string[] {
  const attributes = Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]);
  return [
    ...['server', 'start-dev', ...dbFileArgs(plan)],
    ...['--port', String(port), '--ui-port', String(uiPort), '--ip', LOOPBACK],
    ...['--sqlite-pragma', 'journal_mode=wal', '--log-level', 'warn'],
    ...attributes,
    ...plan.extraArgs,
  ];
}

function dbFileArgs({ dbFile }: Plan): string[] {
  return ['--db-filename', dbFile];
}

function logFile({ dir }: Plan): string {
  return join(dir, 'server.log');
}

function lastComplaint(plan: Plan): string {
  const lines = readFileSync(logFile(plan), 'utf8').trimEnd().split('\n').slice(-50);
  return (
    lines.findLast((line) => /^Error|level=ERROR|address already in use/i.test(line)) ??
    lines.at(-1) ??
    'it said nothing'
  );
}

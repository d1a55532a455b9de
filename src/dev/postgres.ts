import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DevStackError } from '../errors.js';
import { takeLock } from './owner-lock.js';
import { isPortFree, stablePort } from './ports.js';
import { postgresBinaries } from './postgres-binaries.js';
import { prepareCluster } from './postgres-cluster.js';
import {
  isPostmasterOf,
  launchServer,
  letsUsIn,
  pidFile,
  readPidFile,
  serverArgs,
  superuserUrl,
  type PidFile,
  type ServerPlan,
} from './postgres-server.js';
import {
  commandLine,
  killWithChildren,
  processesWorkingIn,
  signalProcess,
  stopProcess,
  waitUntilGone,
} from './processes.js';
import type { Progress } from './progress.js';
import { unprivilegedUser } from './unprivileged.js';

export interface PostgresOptions {
  /** Everything of this cluster lives here (password, server log, data when its user can enter); made when missing. */
  readonly dir: string;
  /** Demanded: the start fails when it is taken. Without it: the port of last time if free, else any. */
  readonly port?: number;
  /** Server settings, given as `-c name=value`. None by default: what a test may do without (fsync), a user's data may not. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly onProgress?: Progress;
  readonly env?: NodeJS.ProcessEnv;
}

export interface RunningPostgres {
  readonly port: number;
  readonly dataDir: string;
  /** Holds `initdb`, `pg_ctl` and `postgres`. */
  readonly binDir: string;
  /** The postmaster's. */
  readonly pid: number;
  /** True when it ran already, left behind by a start that was killed. */
  readonly takenOver: boolean;
  /** The superuser's URL of a database, `postgres` by default. */
  url(database?: string): string;
  /** Finished when the server is gone. `fast` (default) breaks off open transactions; `immediate` skips the checkpoint. */
  stop(mode?: StopMode): Promise<void>;
  /** SIGKILL for the postmaster and all its children, as a crash of the machine would be, less what the kernel had cached. */
  kill(): Promise<void>;
}

export type StopMode = 'fast' | 'immediate';

const STOP_SIGNALS = { fast: ['SIGINT', 'SIGQUIT'], immediate: ['SIGQUIT'] } as const;
const STOP_PATIENCE_MS = 20_000;

/**
 * Starts PostgreSQL 18 on loopback, in a session of its own. A server that a killed start left behind in the same
 * directory is taken over if it answers and has the same settings, else stopped. One live process at a time may have a
 * directory.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const dir = resolve(options.dir);
  mkdirSync(dir, { recursive: true });
  const lock = takeLock(join(dir, 'owner'));
  if (!lock.taken) {
    throw new DevStackError(
      `The database in ${dir} belongs to process ${lock.heldBy}, which still runs: stop that first.`,
    );
  }
  try {
    const plan = await makePlan(dir, options);
    const left = await takeOver(plan, options.port);
    const server = left ?? (await startAnew(plan, options.port));
    return handle(server, plan, left !== undefined, lock.release);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function makePlan(dir: string, options: PostgresOptions): Promise<ServerPlan> {
  const { settings = {}, onProgress = () => undefined, env = process.env } = options;
  const user = unprivilegedUser();
  const binDir = await postgresBinaries(user, env);
  const tools = { binDir, user, settings, onProgress };
  return { ...tools, dir, cluster: await prepareCluster(dir, tools) };
}

function handle(server: PidFile, plan: ServerPlan, takenOver: boolean, release: () => void): RunningPostgres {
  const { pid, port } = server;
  return {
    pid,
    port,
    takenOver,
    binDir: plan.binDir,
    dataDir: plan.cluster.dataDir,
    url: (database = 'postgres') => superuserUrl(port, plan.cluster, database),
    stop: async (mode = 'fast') => {
      await stopProcess(pid, STOP_SIGNALS[mode], STOP_PATIENCE_MS);
      release();
    },
    kill: async () => {
      await killWithChildren(pid);
      release();
    },
  };
}

/** The server that runs on this cluster already, if it can be used as it is; whatever else is left there is ended. */
async function takeOver(plan: ServerPlan, port: number | undefined): Promise<PidFile | undefined> {
  const { dataDir } = plan.cluster;
  const found = readPidFile(dataDir);
  if (found !== undefined && isPostmasterOf(found.pid, dataDir)) {
    if (await suits(found, plan, port)) {
      plan.onProgress(`taking over PostgreSQL (process ${found.pid}), which an earlier start left running`);
      return found;
    }
    plan.onProgress(`stopping PostgreSQL (process ${found.pid}), which an earlier start left running`);
    await stopProcess(found.pid, STOP_SIGNALS.fast, STOP_PATIENCE_MS);
  } else if (found !== undefined) {
    // Its process ID may be another program's by now, and a new server would take that for a living postmaster.
    rmSync(pidFile(dataDir), { force: true });
  }
  await endOrphans(dataDir);
  return undefined;
}

async function suits(found: PidFile, plan: ServerPlan, port: number | undefined): Promise<boolean> {
  const wanted = serverArgs(plan.cluster.dataDir, port ?? found.port, plan.settings).join(' ');
  return commandLine(found.pid).endsWith(wanted) && found.ready && (await letsUsIn(found.port, plan.cluster));
}

/** Children of a killed postmaster hold its shared memory until they notice, and no new server starts meanwhile. */
async function endOrphans(dataDir: string): Promise<void> {
  const orphans = processesWorkingIn(realpathSync(dataDir));
  for (const pid of orphans) signalProcess(pid, 'SIGKILL');
  await waitUntilGone(orphans, 10_000);
}

async function startAnew(plan: ServerPlan, demanded: number | undefined): Promise<PidFile> {
  for (let attempt = 1; ; attempt++) {
    const port = demanded ?? (await stablePort(join(plan.dir, 'port')));
    if (!(await isPortFree(port))) throw portInUse(port);
    try {
      return await launchServer(plan, port);
    } catch (error) {
      const wasOvertaken = demanded === undefined && attempt < 3 && !(await isPortFree(port));
      if (!wasOvertaken) throw error;
    }
  }
}

function portInUse(port: number): DevStackError {
  return new DevStackError(
    `Port ${port}, wanted for PostgreSQL, is in use: stop what listens there or choose another port.`,
  );
}

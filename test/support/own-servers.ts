import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { migrate } from '../../src/db/migrate.js';
import { startPostgres, type RunningPostgres } from '../../src/dev/postgres.js';
import { childrenOf, signalProcess } from '../../src/dev/processes.js';
import { startTemporal, type RunningTemporal } from '../../src/dev/temporal.js';
import { createLogger } from '../../src/observability/logger.js';
import { databaseAt, type TestDatabase } from './database.js';
import { openTempDir, removeDir } from './temp-dir.js';

/** A Temporal server that a test may stop: it comes back on the same port, with or without what it knew. */
export interface OwnTemporal {
  readonly address: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Loses all it knows; only while it is stopped. */
  forget(): void;
  remove(): Promise<void>;
}

/** A killed process loses nothing that it wrote; only a lost machine would, and none is lost here. */
const TEMPORAL_ARGS = ['--sqlite-pragma', 'synchronous=off'];

export async function openOwnTemporal(): Promise<OwnTemporal> {
  const base = openTempDir();
  const dir = join(base, 'temporal');
  const cli = inject('temporalCli');
  let server: RunningTemporal = await startTemporal({ dir, cli, extraArgs: TEMPORAL_ARGS });
  const { address } = server;
  const port = Number(address.split(':')[1]);
  return {
    address,
    kill: () => server.kill(),
    start: async () => {
      server = await startTemporal({ dir, cli, port, extraArgs: TEMPORAL_ARGS });
    },
    forget: () => {
      for (const ending of ['', '-wal', '-shm']) rmSync(join(dir, `temporal.db${ending}`), { force: true });
    },
    remove: async () => {
      await server.kill();
      removeDir(base);
    },
  };
}

/** A PostgreSQL server that a test may stop, with durability as in production. */
export interface OwnPostgres {
  readonly database: TestDatabase;
  /** An orderly stop that breaks off what is open. */
  stop(): Promise<void>;
  /** SIGKILL for the postmaster and all its children. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Every process of it stands still, and connections to it neither answer nor break. */
  pause(): void;
  resume(): void;
  remove(): Promise<void>;
}

export async function openOwnPostgres(): Promise<OwnPostgres> {
  const base = openTempDir();
  const dir = join(base, 'postgres');
  const settings = { max_connections: '100' };
  let server: RunningPostgres = await startPostgres({ dir, settings });
  const { port } = server;
  await migrate({ url: server.url(), log: createLogger('silent', 'test') });
  let paused: readonly number[] = [];
  return {
    database: databaseAt(server.url()),
    stop: () => server.stop('fast'),
    kill: () => server.kill(),
    start: async () => {
      server = await startPostgres({ dir, settings, port });
    },
    pause: () => {
      paused = [server.pid, ...childrenOf(server.pid)];
      for (const pid of paused) signalProcess(pid, 'SIGSTOP');
    },
    resume: () => {
      for (const pid of paused) signalProcess(pid, 'SIGCONT');
    },
    remove: async () => {
      await server.stop('immediate');
      removeDir(base);
    },
  };
}

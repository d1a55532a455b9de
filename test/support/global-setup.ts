import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.js';
import { startPostgres } from '../../src/dev/postgres.js';
import { findTemporalCli } from '../../src/dev/temporal-cli.js';
import { startTemporal } from '../../src/dev/temporal.js';
import { createLogger } from '../../src/observability/logger.js';
import { TEMPLATE_DATABASE } from './database.js';
import { openRunDir, reapRuns } from './run-dir.js';
import { removeDir } from './temp-dir.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Superuser's URL of the shared PostgreSQL 18. */
    readonly postgresUrl: string;
    /** Host and port of the shared Temporal server. */
    readonly temporalAddress: string;
    /** The `temporal` program, for tests that start a server of their own. */
    readonly temporalCli: string;
  }
}

/** Room for every file's pools at once; a lost commit is of no interest here, durability has tests of its own. */
const POSTGRES_SETTINGS = { max_connections: '300', shared_buffers: '128MB', fsync: 'off' };
const TEMPORAL_ARGS = ['--sqlite-pragma', 'synchronous=off'];

/** One PostgreSQL and one Temporal server for the whole run; each file takes a database and a task queue of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const say = (line: string): void => {
    process.stderr.write(`tests: ${line}\n`);
  };
  await reapRuns();
  const dir = openRunDir();
  const cli = await findTemporalCli({ env: process.env, onProgress: say });
  const [postgres, temporal] = await Promise.all([
    startPostgres({ dir: join(dir, 'postgres'), settings: POSTGRES_SETTINGS, onProgress: say }),
    startTemporal({ dir: join(dir, 'temporal'), cli, extraArgs: TEMPORAL_ARGS, onProgress: say }),
  ]);
  await prepareTemplate(postgres.url());
  project.provide('postgresUrl', postgres.url());
  project.provide('temporalAddress', temporal.address);
  project.provide('temporalCli', cli);
  return async () => {
    await temporal.stop();
    await postgres.stop('immediate');
    removeDir(dir);
  };
}

async function prepareTemplate(url: string): Promise<void> {
  const admin = new pg.Client(url);
  await admin.connect();
  await admin.query(`create database ${TEMPLATE_DATABASE}`);
  await admin.end();
  const template = new URL(url);
  template.pathname = `/${TEMPLATE_DATABASE}`;
  await migrate({ url: template.href, log: createLogger('silent', 'tests') });
}

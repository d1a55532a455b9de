import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { isConnectionError, sqlstateOf } from '../db/error-kinds.js';
import { migrate } from '../db/migrate.js';
import { DatabaseUnusableError } from '../errors.js';
import { createLogger } from '../observability/logger.js';

/** A database as `setup`, `given`, `state` and steps get it: a `pg` pool, and its URL for migration tools. */
export interface TestDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  /** The pool's own. */
  readonly query: pg.Pool['query'];
}

/** A migrated database of one's own on a server; gone after `drop`. */
export interface ScratchDatabase extends TestDatabase {
  drop(): Promise<void>;
}

export interface ScratchDatabaseOptions {
  /** Any database of the server to use; it is only connected to, to create and drop another beside it. */
  readonly databaseUrl: string;
  /** Makes the application's own tables, once, after oncehook's migrations. */
  readonly setup?: (db: TestDatabase) => unknown;
  /** Connections at most. */
  readonly connections?: number;
}

/** A test waits this long for a lock and for a statement, in milliseconds; as a worker's sessions do. */
const LOCK_TIMEOUT_MS = 3_000;
const STATEMENT_TIMEOUT_MS = 6_000;

/** PostgreSQL looks for a deadlock after this; a second by default, which is long for a test. */
const DEADLOCK_TIMEOUT = '50ms';

/** SQLSTATE of a role without the right. */
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Makes a database, applies oncehook's migrations and runs `setup`. Commits are not waited for (`synchronous_commit`
 * off): durability is not what a scratch database is for, and speed is.
 * @throws DatabaseUnusableError with the next step, when the server cannot be reached or the role may not create databases
 */
export async function openScratchDatabase(options: ScratchDatabaseOptions): Promise<ScratchDatabase> {
  const name = `oncehook_scratch_${randomBytes(6).toString('hex')}`;
  await asMaintainer(options.databaseUrl, (client) =>
    client.query(`create database ${name} template template0 encoding 'UTF8'`),
  );
  const url = new URL(options.databaseUrl);
  url.pathname = `/${name}`;
  const pool = openPool(url.href, options.connections ?? 10);
  const database: ScratchDatabase = {
    url: url.href,
    pool,
    query: pool.query.bind(pool),
    drop: async () => {
      const isIdle = pool.idleCount === pool.totalCount;
      const ended = pool.end();
      // A session that is still at work, or forgotten, is ended by the server.
      if (isIdle) await ended;
      await asMaintainer(options.databaseUrl, (client) => client.query(`drop database if exists ${name} with (force)`));
    },
  };
  try {
    await asMaintainer(options.databaseUrl, async (client) => {
      await client.query(`alter database ${name} set synchronous_commit = off`);
      await allowedToFail(client.query(`alter database ${name} set deadlock_timeout = '${DEADLOCK_TIMEOUT}'`));
    });
    await migrate({ url: url.href, log: createLogger('silent', 'testing') });
    await options.setup?.(database);
    return database;
  } catch (error) {
    await database.drop();
    throw error;
  }
}

function openPool(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'oncehook testing',
    max,
    connectionTimeoutMillis: 5_000,
    options: `-c timezone=UTC -c lock_timeout=${LOCK_TIMEOUT_MS} -c statement_timeout=${STATEMENT_TIMEOUT_MS}`,
  });
  // A session that is cut while idle is replaced; unheard, it would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

async function asMaintainer(url: string, body: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await body(client);
  } catch (error) {
    throw explained(error, url);
  } finally {
    // Rejects when it never connected, which the error above has told.
    await client.end().catch(() => undefined);
  }
}

function explained(error: unknown, url: string): unknown {
  const { host, username } = new URL(url);
  if (isConnectionError(error)) {
    return new DatabaseUnusableError(
      `PostgreSQL does not answer at ${host}. Start one and point DATABASE_URL at it, for example: ` +
        'docker run --rm -d -p 5432:5432 -e POSTGRES_PASSWORD=postgres postgres:18',
      { cause: error },
    );
  }
  if (sqlstateOf(error) === INSUFFICIENT_PRIVILEGE) {
    return new DatabaseUnusableError(
      `The role ${username} may not create databases on ${host}, and tests need one of their own: alter role ${username} createdb`,
      { cause: error },
    );
  }
  const sqlstate = sqlstateOf(error);
  if (sqlstate === undefined) return error;
  return new DatabaseUnusableError(`No scratch database could be made on ${host} (SQLSTATE ${sqlstate})`, {
    cause: error,
  });
}

/** What only a superuser may do makes tests faster, and they work without it. */
async function allowedToFail(statement: Promise<unknown>): Promise<void> {
  try {
    await statement;
  } catch (error) {
    if (sqlstateOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
  }
}

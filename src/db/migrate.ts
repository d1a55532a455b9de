import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import type { Logger } from '../observability/logger.js';
import { packageRoot } from '../package-root.js';
import { checkDatabase } from './check-database.js';

/** Any fixed number; names our migration lock among the database's advisory locks ("once" in ASCII). */
const MIGRATION_LOCK = 0x6f6e6365;

/** A migrator waits this long for another one to finish before it gives up. */
const LOCK_WAIT = '120s';

export interface MigrationResult {
  /** Names of the migrations that this call applied, in order. */
  readonly applied: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Brings schema `oncehook` up to this version. Safe when several start at once: one works, the others wait for it and
 * find nothing to do. Each migration and its record commit together.
 * @throws DatabaseUnusableError on a database that cannot be used; the driver's error when it cannot be reached.
 */
export async function migrate(options: { readonly url: string; readonly log: Logger }): Promise<MigrationResult> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'oncehook migrate',
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', (error) => {
    options.log.debug({ err: error }, 'database connection lost');
  });
  await client.connect();
  try {
    const warnings = await checkDatabase(client);
    await client.query(`set lock_timeout = '${LOCK_WAIT}'`);
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await runMigrations(client, options.log);
    return { applied, warnings };
  } finally {
    await client.end();
  }
}

async function runMigrations(client: pg.Client, log: Logger): Promise<readonly string[]> {
  // Loaded when asked for: receivers and workers only ask for the schema's state, and start sooner without.
  const { runner } = await import('node-pg-migrate');
  const migrations = await runner({
    dbClient: client,
    dir: migrationsFolder(),
    direction: 'up',
    migrationsTable: 'schema_migrations',
    migrationsSchema: 'oncehook',
    createMigrationsSchema: true,
    // The runner's own lock does not wait: a second migrator would fail. Ours does.
    noLock: true,
    checkOrder: true,
    verbose: false,
    logger: {
      debug: () => undefined,
      info: () => undefined,
      warn: (message) => {
        log.warn({ migration: true }, message);
      },
      error: () => undefined,
    },
  });
  return migrations.map(({ name }) => name);
}

/**
 * Whether the schema is at least the one that this version needs; a newer one is fine, since migrations tolerate the
 * version before them.
 */
export async function schemaState(client: Pick<pg.ClientBase, 'query'>): Promise<'ok' | 'behind'> {
  const [needed, applied] = [await neededMigrations(), await appliedMigrations(client)];
  return needed.every((name) => applied.includes(name)) ? 'ok' : 'behind';
}

/** Names of the migrations that were applied, in the order of their names; none where there is no schema yet. */
export async function appliedMigrations(db: Pick<pg.ClientBase, 'query'>): Promise<readonly string[]> {
  const { rows: tables } = await db.query<{ exists: boolean }>(
    `select to_regclass('oncehook.schema_migrations') is not null as exists`,
  );
  if (tables[0]?.exists !== true) return [];
  const { rows } = await db.query<{ name: string }>('select name from oncehook.schema_migrations');
  return rows.map(({ name }) => name).sort();
}

/** Names of all migrations of this version. */
export async function neededMigrations(): Promise<readonly string[]> {
  const files = await readdir(migrationsFolder());
  return files.filter((file) => file.endsWith('.sql')).map((file) => file.slice(0, -'.sql'.length));
}

export function migrationsFolder(): string {
  return join(packageRoot(), 'migrations');
}

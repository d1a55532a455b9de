import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

/** Migrated once; every test database is a copy of it. */
export const TEMPLATE_DATABASE = 'oncehook_template';

export interface TestDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  /** Rows of a query; for looking, not for the code under test. */
  rows<Row extends pg.QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  drop(): Promise<void>;
}

/** A migrated database of one's own on the shared server. */
export async function openDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(`create database ${name} template ${TEMPLATE_DATABASE}`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  const database = databaseAt(url.href);
  return {
    ...database,
    drop: async () => {
      await database.drop();
      await asAdmin(`drop database ${name} with (force)`);
    },
  };
}

/** A database that is there already and migrated; `drop` only leaves it. */
export function databaseAt(url: string): TestDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  // Tests cut connections on purpose; unheard, that would end the test process.
  pool.on('error', () => undefined);
  return {
    url,
    pool,
    rows: async <Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(sql, [...values])).rows,
    drop: () => pool.end(),
  };
}

/** `create database` waits for nobody's connection to the template, and fails while another copies it: so in turn. */
async function asAdmin(sql: string): Promise<void> {
  const admin = new pg.Client(inject('postgresUrl'));
  await admin.connect();
  try {
    await admin.query('select pg_advisory_lock(1)');
    await admin.query(sql);
  } finally {
    await admin.end();
  }
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClientBase } from 'pg';
import { appliedMigrations, migrationsFolder, neededMigrations } from './migrate.js';

/**
 * The SQL that `migrate` would run now, with its records, for whoever applies SQL by other means. Each migration is a
 * transaction of its own.
 * @param db `null` without a database: then everything, from an empty one
 */
export async function printMigrations(db: Pick<ClientBase, 'query'> | null): Promise<string> {
  const applied = db === null ? [] : await appliedMigrations(db);
  const missing = (await neededMigrations()).filter((name) => !applied.includes(name)).sort();
  const parts = await Promise.all(
    missing.map(async (name) => {
      const sql = await readFile(join(migrationsFolder(), `${name}.sql`), 'utf8');
      return `begin;\n\n${sql.trim()}\n\n${record(name)}\n\ncommit;\n`;
    }),
  );
  return parts.length === 0 ? '' : `${BOOKKEEPING}\n${parts.join('\n')}`;
}

/** As the migration runner makes it, so that `migrate` goes on from here. */
const BOOKKEEPING = `create schema if not exists oncehook;
create table if not exists oncehook.schema_migrations (id serial primary key, name varchar(255) not null, run_on timestamp not null);
`;

function record(name: string): string {
  return `insert into oncehook.schema_migrations (name, run_on) values ('${name}', now());`;
}

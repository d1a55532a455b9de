import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { migrationsFolder, neededMigrations } from '../../src/db/migrate.js';
import { databaseAt, type TestDatabase } from './database.js';

/** A database whose schema is an earlier one: the first migrations of this version, as `migrate` would have left them. */
export async function openOlderDatabase(isApplied: (migration: string) => boolean): Promise<TestDatabase> {
  const name = `older_${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client(inject('postgresUrl'));
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  const database = databaseAt(url.href);
  await database.pool.query(`create schema oncehook;
    create table oncehook.schema_migrations (id serial primary key, name varchar(255) not null, run_on timestamp not null)`);
  for (const migration of [...(await neededMigrations())].sort().filter(isApplied)) {
    await database.pool.query(readFileSync(join(migrationsFolder(), `${migration}.sql`), 'utf8'));
    await database.pool.query('insert into oncehook.schema_migrations (name, run_on) values ($1, now())', [migration]);
  }
  return {
    ...database,
    drop: async () => {
      await database.drop();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}

import type { ClientBase } from 'pg';
import { DatabaseUnusableError } from '../errors.js';

const OLDEST_VERSION = 15;

interface DatabaseFacts {
  readonly version: number;
  readonly encoding: string;
  readonly read_only: string;
  readonly in_recovery: boolean;
  readonly fsync: string;
  readonly full_page_writes: string;
}

/**
 * Refuses a database that the promises cannot be kept on, and warns of settings that only the server's owner can
 * judge: managed servers have durability of their own behind `fsync = off`.
 * @returns warnings, one sentence each.
 * @throws DatabaseUnusableError when it is older than 15, not UTF-8, or not writable.
 */
export async function checkDatabase(client: Pick<ClientBase, 'query'>): Promise<readonly string[]> {
  const { rows } = await client.query<DatabaseFacts>(`
    select current_setting('server_version_num')::integer / 10000 as version,
           current_setting('server_encoding') as encoding,
           current_setting('default_transaction_read_only') as read_only,
           pg_is_in_recovery() as in_recovery,
           current_setting('fsync') as fsync,
           current_setting('full_page_writes') as full_page_writes`);
  const facts = rows[0];
  if (facts === undefined) throw new DatabaseUnusableError('The database did not describe itself');
  refuseUnusable(facts);
  return (['fsync', 'full_page_writes'] as const)
    .filter((setting) => facts[setting] === 'off')
    .map(
      (setting) =>
        `${setting} is off: unless this server has durability of its own, a power cut can lose accepted events`,
    );
}

function refuseUnusable(facts: DatabaseFacts): void {
  if (facts.version < OLDEST_VERSION) {
    throw new DatabaseUnusableError(
      `PostgreSQL ${facts.version} is too old: oncehook needs ${OLDEST_VERSION} or newer. Upgrade the server or point DATABASE_URL at another`,
    );
  }
  if (facts.encoding !== 'UTF8') {
    throw new DatabaseUnusableError(
      `The database's encoding is ${facts.encoding}: oncehook needs UTF8. Create one with: create database oncehook encoding 'UTF8' template template0`,
    );
  }
  if (facts.in_recovery || facts.read_only === 'on') {
    throw new DatabaseUnusableError(
      'The database is read-only (a standby, or default_transaction_read_only is on): point DATABASE_URL at the primary',
    );
  }
}

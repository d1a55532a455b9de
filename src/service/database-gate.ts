import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { checkDatabase } from '../db/check-database.js';
import { checkPrivileges, HOW_TO_GRANT } from '../db/check-privileges.js';
import { lacksPrivilege } from '../db/error-kinds.js';
import { schemaState } from '../db/migrate.js';
import { DatabaseUnusableError } from '../errors.js';
import type { Logger } from '../observability/logger.js';

const PAUSE_MS = 1_000;

const REFUSED = `waiting: the role of DATABASE_URL may not read schema oncehook; ${HOW_TO_GRANT}`;

/**
 * Waits until the database answers and its schema is at least this version's; says once what it waits for.
 * @throws DatabaseUnusableError when it answers and can never do.
 */
export async function untilDatabaseReady(pool: Pool, log: Logger, signal: AbortSignal): Promise<void> {
  let said = '';
  const say = (message: string): void => {
    if (said !== message) log.warn(message);
    said = message;
  };
  while (!signal.aborted) {
    try {
      const warnings = await checkDatabase(pool);
      if ((await schemaState(pool)) === 'ok') {
        for (const warning of [...warnings, ...(await checkPrivileges(pool))]) log.warn(warning);
        return;
      }
      say('waiting: the schema is behind this version; run `oncehook migrate`');
    } catch (error) {
      if (error instanceof DatabaseUnusableError) throw error;
      say(
        lacksPrivilege(error)
          ? REFUSED
          : 'waiting: PostgreSQL does not answer; is it running, and is DATABASE_URL right?',
      );
    }
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

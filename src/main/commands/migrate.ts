import type { Command } from 'commander';
import { loadConfig, requireDatabaseUrl } from '../../config/index.js';
import { migrate } from '../../db/migrate.js';
import { createLogger } from '../../observability/logger.js';

/** `oncehook migrate`: brings the schema up to this version. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('create or update schema oncehook in DATABASE_URL; safe when several start at once')
    .action(async () => {
      const config = loadConfig({ env: process.env, cwd: process.cwd(), role: 'tool' });
      // Logs go to stderr, so that what a command prints can be piped.
      const log = createLogger(config.environment.logLevel, 'migrate', process.stderr);
      const { applied, warnings } = await migrate({ url: requireDatabaseUrl(config), log });
      for (const warning of warnings) process.stderr.write(`oncehook: ${warning}\n`);
      const done = applied.length === 0 ? 'nothing to do, the schema is up to date' : `applied ${applied.join(', ')}`;
      process.stdout.write(`${done}\n`);
    });
}

import type { Command } from 'commander';
import { loadConfig, requireDatabaseUrl, type Config } from '../../config/index.js';
import { migrate } from '../../db/migrate.js';
import { printMigrations } from '../../db/print-migrations.js';
import { createLogger } from '../../observability/logger.js';
import { openPool } from '../open-tool.js';

/** `oncehook migrate`: brings the schema up to this version. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('create or update schema oncehook in DATABASE_URL; safe when several start at once')
    .option('--print', 'print the SQL that is still to be applied and apply nothing; without DATABASE_URL all of it')
    .action(async (options: { readonly print?: boolean }) => {
      const config = loadConfig({ env: process.env, cwd: process.cwd(), role: 'tool' });
      if (options.print === true) {
        process.stdout.write(await print(config));
        return;
      }
      // Logs go to stderr, so that what a command prints can be piped.
      const log = createLogger(config.environment.logLevel, 'migrate', process.stderr);
      const { applied, warnings } = await migrate({ url: requireDatabaseUrl(config), log });
      for (const warning of warnings) process.stderr.write(`oncehook: ${warning}\n`);
      const done = applied.length === 0 ? 'nothing to do, the schema is up to date' : `applied ${applied.join(', ')}`;
      process.stdout.write(`${done}\n`);
    });
}

async function print(config: Config): Promise<string> {
  if (config.environment.databaseUrl === null) return printMigrations(null);
  const pool = openPool(config);
  try {
    return await printMigrations(pool);
  } finally {
    await pool.end();
  }
}

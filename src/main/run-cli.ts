import { Command, CommanderError } from 'commander';
import { CommandError, ConfigError, DatabaseUnusableError, OncehookError } from '../errors.js';
import { isConnectionError } from '../db/error-kinds.js';
import { addDevCommand } from './commands/dev.js';
import { addDiffCommand } from './commands/diff.js';
import { addEventsCommands } from './commands/events.js';
import { addMigrateCommand } from './commands/migrate.js';
import { addOperationsCommands } from './commands/operations.js';
import { addOrdersCommands } from './commands/orders.js';
import { addProveCommand } from './commands/prove.js';
import { addSendCommand } from './commands/send.js';
import { addServiceCommands } from './commands/services.js';
import { addSourcesCommand } from './commands/sources.js';
import { addUpgradeCommand } from './commands/upgrade.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { packageVersion } from './package-version.js';

/**
 * The one program of oncehook, apart from the process that it runs in: reads `process.env` and writes to the standard
 * streams. Never rejects: what goes wrong is said on stderr and in the exit code.
 * @param onForeignCode called before modules of the user's are loaded, which may hold the process for ever
 */
export async function runCli(argv: readonly string[], onForeignCode: () => void = () => undefined): Promise<ExitCode> {
  try {
    return await run(argv, onForeignCode);
  } catch (error) {
    return explain(error);
  }
}

async function run(argv: readonly string[], onForeignCode: () => void): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const finish = (code: ExitCode): void => {
    exitCode = code;
  };
  const program = new Command('oncehook')
    .description('Receives webhooks and makes each of them take effect once.')
    .version(packageVersion())
    .exitOverride()
    .showHelpAfterError('(add --help for what there is)');
  addServiceCommands(program);
  addMigrateCommand(program);
  addUpgradeCommand(program, finish);
  addSendCommand(program, finish);
  addSourcesCommand(program);
  addEventsCommands(program, finish);
  addOperationsCommands(program, finish);
  addOrdersCommands(program, finish);
  addDiffCommand(program, finish);
  addProveCommand(program, finish, onForeignCode);
  addDevCommand(program, finish);
  await program.parseAsync([...argv]);
  return exitCode;
}

/** One clear line for what a person can mend; a stack only for what is our own mistake. */
function explain(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof CommandError)
    return say(error.message, error.code === 'not_found' ? EXIT.notFound : EXIT[error.code]);
  if (error instanceof ConfigError) return say(error.message, EXIT.usage);
  if (error instanceof DatabaseUnusableError || error instanceof OncehookError) return say(error.message, EXIT.failed);
  if (isConnectionError(error)) {
    return say('PostgreSQL does not answer: is it running, and is DATABASE_URL right?', EXIT.failed);
  }
  return say(error instanceof Error ? (error.stack ?? error.message) : String(error), EXIT.failed);
}

function say(message: string, code: ExitCode): ExitCode {
  process.stderr.write(`oncehook: ${message}\n`);
  return code;
}

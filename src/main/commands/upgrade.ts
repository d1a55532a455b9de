import type { Command } from 'commander';
import { loadConfig } from '../../config/index.js';
import { CommandError } from '../../errors.js';
import { readCount } from '../command-options.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { printDocument } from '../print-document.js';
import { printUpgrade, UPGRADE_STEPS } from '../print-upgrade.js';

interface UpgradeOptions {
  readonly check?: boolean;
  readonly query?: string;
  readonly limit?: number;
  readonly workflowBundle?: string;
  readonly json?: boolean;
}

/** Seldom enough for a log, often enough for a person; in milliseconds. */
const PROGRESS_EVERY_MS = 2_000;

/** `oncehook upgrade --check`: what would break if this version took over now. */
export function addUpgradeCommand(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('upgrade')
    .description('before a deploy: replay open workflows on this version and look at the schema; only reads')
    .option('--check', 'do that; without it, say which steps an upgrade has')
    .option('--query <query>', 'only these open workflows (a visibility query of Temporal)')
    .option('--limit <n>', 'at most so many histories', readCount)
    .option(
      '--workflow-bundle <file>',
      'replay on this bundle, which holds our workflows beside your own; --query then also says which types',
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `\n${UPGRADE_STEPS}\n\nExit codes: 0 nothing breaks, 1 something would or could not be looked at, 2 usage`,
    )
    .action(async ({ check, json, ...options }: UpgradeOptions) => {
      if (check !== true) throw new CommandError('usage', UPGRADE_STEPS);
      const config = loadConfig({ env: process.env, cwd: process.cwd(), role: 'tool' });
      // Loaded when asked for: no other command has a use for a worker's parts, which take longest.
      const { checkUpgrade } = await import('../upgrade-check.js');
      const report = await checkUpgrade(config, process.env, options, tellProgress());
      if (json === true) printDocument(report);
      else printUpgrade(report);
      finish(report.ok ? EXIT.done : EXIT.failed);
    });
}

function tellProgress(): (done: number, of: number) => void {
  let told = Date.now();
  return (done, of) => {
    if (Date.now() - told < PROGRESS_EVERY_MS) return;
    told = Date.now();
    process.stderr.write(`oncehook: ${done} of ${of} histories\n`);
  };
}

import { InvalidArgumentError, type Command } from 'commander';
import { loadConfig, requireDatabaseUrl } from '../../config/index.js';
import { CommandError, DatabaseUnusableError } from '../../errors.js';
import { loadProof, requireFile } from '../../prove/load-proof.js';
import { openProofDatabase, prove, type Progress, type ProveOptions, type Verdict } from '../../prove/prove.js';
import { documentOf, linesOf, type Asked } from '../../prove/report.js';
import { parseSchedule, type Schedule } from '../../prove/schedule.js';
import type { Proof } from '../../testing/proof.js';
import { readCount } from '../command-options.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { pointEnvironmentAt } from '../point-environment.js';
import { printDocument } from '../print-document.js';
import { untilInterrupted, type Interruption } from '../until-interrupted.js';

interface ProveCommandOptions {
  readonly seed?: number;
  readonly schedules: number;
  readonly repeat?: string;
  readonly databaseUrl?: string;
  readonly json?: boolean;
}

const DEFAULT_SCHEDULES = 1_000;

/** Between two lines of progress, in milliseconds; a run that is over sooner says nothing. */
const PROGRESS_EVERY_MS = 2_000;

/** `oncehook prove`: a file's own handlers under crashes, duplicates, every order, and two at once. */
export function addProveCommand(program: Command, finish: (code: ExitCode) => void, onForeignCode: () => void): void {
  program
    .command('prove')
    .description(
      'run handlers under every order, duplicates, crashes and two at once, and print the shortest counterexample',
    )
    .argument('<file>', 'TypeScript or JavaScript file that exports a proof (defineProof of oncehook/testing)')
    .option('--seed <n>', 'of the random part; printed with the verdict', readSeed)
    .option(
      '--schedules <n>',
      'how many to try at least; every order and every single fault of the given one are tried in any case',
      readCount,
      DEFAULT_SCHEDULES,
    )
    .option('--repeat <schedule>', 'only this one, as a counterexample names it')
    .option(
      '--database-url <url>',
      'a database of the server to use; a scratch database is made beside it (DATABASE_URL)',
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample: oncehook prove ./handlers.ts\nExit code: 0 proven, 1 counterexample, 2 usage.')
    .action(async (file: string, options: ProveCommandOptions) => {
      onForeignCode();
      requireFile(file, process.cwd());
      const databaseUrl = options.databaseUrl ?? configuredDatabase();
      const asked = { file, seed: options.seed ?? newSeed(), isRepeat: options.repeat !== undefined };
      const verdict = await untilInterrupted((interruption) => proveFile(databaseUrl, options, asked, interruption));
      if (options.json === true) printDocument(documentOf(verdict, asked));
      else process.stdout.write(`${linesOf(verdict, asked).join('\n')}\n`);
      finish(verdict.counterexample === null ? EXIT.done : EXIT.failed);
    });
}

/**
 * The file is loaded when the scratch database is there, with the environment pointing at it: a connection that the
 * application's own modules open then leads to no other database.
 */
async function proveFile(
  databaseUrl: string,
  { schedules, repeat }: ProveCommandOptions,
  { file, seed }: Asked,
  interruption: Interruption,
): Promise<Verdict> {
  const database = await openProofDatabase(databaseUrl).catch(notRun);
  const pointBack = pointEnvironmentAt(database.url, process.env);
  try {
    interruption.signal.throwIfAborted();
    const proof = await interruption.of(loadProof(file, process.cwd()));
    const only = repeat === undefined ? {} : { only: readSchedule(repeat, proof) };
    const { signal } = interruption;
    const options: ProveOptions = { database, seed, schedules, signal, onProgress: sayProgress(), ...only };
    return await interruption.of(prove(proof, options));
  } finally {
    pointBack();
    await database.drop();
  }
}

/** Exit code 1 means a counterexample; a proof that could not be run has not found one. */
function notRun(error: unknown): never {
  if (!(error instanceof DatabaseUnusableError)) throw error;
  throw new CommandError('usage', error.message, { cause: error });
}

/** @throws ConfigError that names DATABASE_URL when it is not set */
function configuredDatabase(): string {
  return requireDatabaseUrl(loadConfig({ env: process.env, cwd: process.cwd(), role: 'tool' }));
}

function readSchedule(text: string, proof: Proof): Schedule {
  const counts = { events: proof.events.length, steps: Object.keys(proof.steps ?? {}).length };
  const schedule = parseSchedule(text, counts);
  if (schedule === undefined) {
    throw new CommandError('usage', `--repeat ${text} is not a schedule of this proof, as a counterexample names it`);
  }
  return schedule;
}

function readSeed(text: string): number {
  const seed = Number(text);
  if (!/^\d+$/.test(text) || seed >= 2 ** 32) throw new InvalidArgumentError('A whole number from 0 to 4294967295.');
  return seed;
}

function newSeed(): number {
  return Math.floor(Math.random() * 2 ** 32);
}

function sayProgress(): (progress: Progress) => void {
  const startedAt = performance.now();
  let saidAt = startedAt;
  return ({ tried, of }) => {
    const now = performance.now();
    if (now - saidAt < PROGRESS_EVERY_MS) return;
    saidAt = now;
    const leftMs = ((now - startedAt) / tried) * (of - tried);
    process.stderr.write(`oncehook: ${tried} of ${of} schedules, about ${Math.ceil(leftMs / 1000)} s left\n`);
  };
}

import { InvalidArgumentError, type Command } from 'commander';
import { compareDecisions, type DecisionDiff, type DiffRequest } from '../../admin/compare-decisions.js';
import { parseViewName } from '../../admin/view-name.js';
import { parseDuration } from '../../config/index.js';
import { readCount, readDuration } from '../command-options.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { withTool } from '../open-tool.js';
import { printDiff } from '../print-diff.js';
import { printDocument } from '../print-document.js';

interface DiffOptions {
  readonly view: string;
  readonly source?: string;
  readonly since?: NonNullable<DiffRequest['since']>;
  readonly olderThan: number;
  readonly exact?: boolean;
  readonly limit: number;
  readonly json?: boolean;
}

/** `oncehook diff`: what shadow mode decided, beside what the application did. */
export function addDiffCommand(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('diff')
    .description("compare the decisions of shadow mode with your application's own, read from a view; 1 if they differ")
    .requiredOption(
      '--view <schema.view>',
      'view with event_id, outcome and, if you like, source_scope, effects, handled_at',
    )
    .option('--source <name>', 'only what this source decided')
    .option(
      '--since <when>',
      'events received since then: 2h, 7d or 2026-03-01T00:00:00Z (default: the first decision)',
      readSince,
    )
    .option(
      '--older-than <duration>',
      'not events that are younger: both may still be at work on them',
      readDuration,
      60_000,
    )
    .option('--exact', 'tell applied, duplicate and superseded apart')
    .option('--limit <n>', 'name at most this many events', readCount, 50)
    .option('--json', 'print one JSON document')
    .action((options: DiffOptions) =>
      withTool(async ({ pool }) => {
        const diff = await compareDecisions(pool, requestOf(options));
        if (options.json === true) printDocument(diff);
        else printDiff(diff);
        finish(isSame(diff) ? EXIT.done : EXIT.failed);
      }),
    );
}

function isSame({ counts }: DecisionDiff): boolean {
  return counts.differ + counts.only_shadow + counts.only_application === 0;
}

function requestOf({ view, source, since, olderThan, exact, limit }: DiffOptions): DiffRequest {
  return {
    view: parseViewName(view),
    ...(source === undefined ? {} : { source }),
    ...(since === undefined ? {} : { since }),
    olderThanMs: olderThan,
    by: exact === true ? 'words' : 'class',
    limit,
  };
}

/** A time without its zone would mean another one on each machine. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})$/;

function readSince(text: string): NonNullable<DiffRequest['since']> {
  const agoMs = parseDuration(text);
  if (agoMs !== undefined) return { agoMs };
  const at = new Date(text);
  if (INSTANT.test(text) && !Number.isNaN(at.getTime())) return { at };
  throw new InvalidArgumentError('A duration (30m, 2h, 7d) or a time with its zone (2026-03-01T00:00:00Z).');
}

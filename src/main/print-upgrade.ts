import type { SchemaReport } from '../db/schema-report.js';
import type { FailedReplay, ReplayReport } from '../temporal/replay-open-runs.js';
import type { Half, UpgradeReport } from './upgrade-check.js';

/** The order of an upgrade, for whoever asks for one: no command can do it all from here. */
export const UPGRADE_STEPS = `An upgrade is four steps, with the new version's program:

  1. oncehook upgrade --check    what open workflows and the schema say to it; changes nothing
  2. oncehook migrate            or: oncehook migrate --print, for whoever applies SQL by other means
  3. start the new workers, stop the old ones
  4. start the new receivers, stop the old ones

The version that runs goes on all the while. docs/upgrading.md tells the rest, and the way back.`;

/** So many are printed; --json has them all. */
const MAX_PRINTED = 50;

export function printUpgrade({ version, ok, histories, schema }: UpgradeReport): void {
  const lines = [
    `Check before an upgrade to ${version}. It only reads.`,
    '',
    ...half('Open workflows', histories, historyLines),
    '',
    ...half('Schema', schema, schemaLines),
    '',
    ok ? 'Nothing stands against the upgrade.' : 'The upgrade should not go on like this: see above.',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function half<Found>(name: string, looked: Half<Found>, linesOf: (found: Found) => readonly string[]): string[] {
  if (!looked.checked) return [`${name}: not checked. ${looked.problem}`];
  const [first = '', ...rest] = linesOf(looked.found);
  return [`${name}: ${first}`, ...rest.map((line) => `  ${line}`)];
}

function historyLines({ query, open, replayed, notBegun, ended, failed }: ReplayReport): string[] {
  const looked = replayed + notBegun + ended;
  const notes = [
    ...(notBegun > 0 ? [`${notBegun} have not begun and fit to any code`] : []),
    ...(ended > 0 ? [`${ended} ended meanwhile`] : []),
    ...(looked < open ? [`${open - looked} of ${open} were left out (--limit)`] : []),
  ];
  return [
    `${replayed} histories replayed, ${failed.length} would fail`,
    ...notes,
    `asked for: ${query}`,
    ...failed.slice(0, MAX_PRINTED).map(failedLine),
    ...(failed.length > MAX_PRINTED ? [`and ${failed.length - MAX_PRINTED} more, see --json`] : []),
    ...(failed.length > 0 ? WHAT_TO_DO : []),
  ];
}

function failedLine({ workflowId, runId, reason }: FailedReplay): string {
  return `- ${workflowId} (run ${runId}): ${reason}`;
}

/** A run of ours may be lost: what it stands for is in PostgreSQL. */
const WHAT_TO_DO = [
  'What to do, one of:',
  '- Hold the upgrade back and mend the workflow code (patched() in code of your own).',
  '- Let them end under the version that runs: oncehook events replay or discard for what is quarantined; what waits ends by itself.',
  '- Go on and keep a worker of the old version beside the new ones until they have ended: a task that fails on one is tried again and gets to the other.',
  '- Go on, and then terminate these runs (processWebhookEvent, processOperation): nothing is lost. Sweepers start pending ones anew,',
  '  and oncehook events replay those that are quarantined. Workflows of your own: temporal workflow reset.',
];

function schemaLines({ version, state, pending, unknown, judgement }: SchemaReport): string[] {
  return [
    state === 'empty' ? 'none yet' : `${version === null ? 'older than 0.1.0' : `of ${version}`} (${state})`,
    judgement,
    ...(pending.length > 0 ? ['migrate would apply, in this order:', ...pending.map((name) => `- ${name}`)] : []),
    ...(unknown.length > 0 ? [`of a later version: ${unknown.join(', ')}`] : []),
  ];
}

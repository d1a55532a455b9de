import { describeHappenings } from './describe.js';
import type { Difference } from './end.js';
import type { Counterexample, Verdict } from './prove.js';
import { encodeSchedule } from './schedule.js';
import { headlineOf, type Violation } from './violation.js';

/** What a verdict was asked for, for its command lines. */
export interface Asked {
  /** As it was given. */
  readonly file: string;
  readonly seed: number;
  readonly isRepeat: boolean;
}

/** A verdict as one JSON document. */
export function documentOf(verdict: Verdict, asked: Asked): Readonly<Record<string, unknown>> {
  const { counterexample, schedules, orders, outcomes, exhaustive, durationMs } = verdict;
  return {
    verdict: counterexample === null ? 'proven' : 'counterexample',
    file: asked.file,
    seed: asked.seed,
    schedules,
    orders,
    outcomes,
    exhaustive,
    durationMs: Math.round(durationMs),
    counterexample: counterexample === null ? null : describeCounterexample(verdict, counterexample, asked),
  };
}

function describeCounterexample(
  { cast }: Verdict,
  { run, violation }: Counterexample,
  asked: Asked,
): Readonly<Record<string, unknown>> {
  const { kind } = violation;
  return {
    kind,
    headline: headlineOf(violation),
    steps: describeHappenings(cast, run.happenings),
    ...(violation.kind === 'end' ? { differences: violation.differences, expected: violation.expected } : {}),
    ...('text' in violation ? { text: violation.text } : {}),
    found: run.end,
    schedule: encodeSchedule(run.schedule),
    repeat: repeatLine(asked, run.schedule),
  };
}

/** A verdict as lines for a person. */
export function linesOf(verdict: Verdict, asked: Asked): readonly string[] {
  const { counterexample, cast, schedules, outcomes, durationMs } = verdict;
  const seconds = `${(durationMs / 1000).toFixed(1)} s`;
  if (counterexample === null) {
    if (asked.isRepeat) return ['This schedule ends as it should.'];
    return [
      `Proven: ${schedules} schedules, ${extentOf(verdict)} (${seconds}, seed ${asked.seed}).`,
      '',
      'In the given order the events end as:',
      ...Object.entries(outcomes).map(([name, outcome]) => `  ${name}: ${outcome}`),
    ];
  }
  const { run, violation } = counterexample;
  return [
    `Not proven: ${headlineOf(violation)}.`,
    `Found at schedule ${schedules} (${seconds}, seed ${asked.seed}).`,
    '',
    ...describeHappenings(cast, run.happenings).map((line, at) => `  ${at + 1}. ${line}`),
    '',
    ...evidenceOf(violation),
    '',
    'Repeat just this schedule:',
    `  ${repeatLine(asked, run.schedule)}`,
  ];
}

/** What was tried, and what was not. */
function extentOf({ cast, orders, exhaustive }: Verdict): string {
  const faults = 'each duplicate, crash, lost answer and two at once';
  if (exhaustive) return `every order, and in every order ${faults}`;
  const every =
    orders.tried === orders.of
      ? `every order (${orders.of})`
      : `every order of the events with the steps at some of their places (${orders.tried} of ${orders.of} orders; all with --schedules ${orders.of})`;
  return `${every}, ${faults} in ${cast.steps.length > 0 ? 'the given order, steps first' : 'the given order'}, and of these in other orders and of several at once a random part: more with --schedules, others with --seed`;
}

function evidenceOf(violation: Violation): readonly string[] {
  switch (violation.kind) {
    case 'end':
      return [
        'Expected as when the same events arrive once, in their own order, without trouble; found:',
        ...violation.differences.flatMap(describeDifference),
      ];
    case 'invariant':
    case 'outside_call':
    case 'defect':
      return [`  ${violation.text}`];
    case 'deadlock':
      return [
        '  oncehook tries again and the end is right, but each time costs a worker a second; lock rows in one order.',
      ];
  }
}

function describeDifference({ path, expected, found }: Difference): readonly string[] {
  return [`  ${path}`, `    - ${show(expected)}`, `    + ${show(found)}`];
}

function show(value: unknown): string {
  return value === undefined ? '(nothing)' : JSON.stringify(value);
}

function repeatLine({ file, seed }: Asked, schedule: Parameters<typeof encodeSchedule>[0]): string {
  return `oncehook prove ${file} --seed ${seed} --repeat ${encodeSchedule(schedule)}`;
}

import { stepOf, type Cast } from './cast.js';
import type { Actor, Fault, Move, OperationPoint } from './schedule.js';
import type { Happening } from './stage.js';

/** A schedule as numbered lines; one per move. */
export function describeHappenings(cast: Cast, happenings: readonly Happening[]): readonly string[] {
  return happenings.map((happening) => describeMove(cast, happening));
}

function describeMove(cast: Cast, happening: Happening): string {
  const { move, results } = happening;
  if (move.kind === 'both') return `at once: ${describeBoth(cast, move, happening)}`;
  const [result] = results;
  const did = `${describeActor(cast, move.actor)}${move.fault === null ? '' : `; ${describeFault(move.fault, happening)}`}`;
  return result === null || result === undefined ? did : `${did}: ${result}`;
}

function describeActor(cast: Cast, actor: Actor): string {
  if (actor.kind === 'step') return `step "${stepOf(cast, actor.step).name}"`;
  const name = cast.events[actor.event]?.name ?? '';
  switch (actor.as) {
    case 'first':
      return name;
    case 'again':
      return `${name} again`;
    case 'copy':
      return `${name} again, under a new event ID`;
  }
}

function describeBoth(
  cast: Cast,
  { actors, turns }: Extract<Move, { kind: 'both' }>,
  { results, statements }: Happening,
): string {
  const [first, second] = actors;
  const names = [describeActor(cast, first), describeActor(cast, second)] as const;
  const short = first.kind === 'step' ? `"${stepOf(cast, first.step).name}"` : 'the first';
  const pauses =
    turns.length === 1
      ? `${short} pauses after ${sqlOf(statements[0], turns[0] ?? 0)}, the second runs as far as it can`
      : `they take turns (${turns.join(', ')} statements)`;
  const ends = results.map((result) => result ?? 'committed').join(' and ');
  return `${names[0]} and ${names[1]}; ${pauses}: ${ends}`;
}

function describeFault(fault: Fault, { lostAt, performed }: Happening): string {
  if (fault.kind === 'operation') {
    const key = performed[fault.operation - 1];
    return `${describePoint(fault.point)} of ${key ?? 'an operation'}, then it is run again`;
  }
  if (lostAt === null) return 'no crash, it was over before';
  return `crash ${fault.when} ${inShort(lostAt)}, then it is run again`;
}

function describePoint(point: OperationPoint): string {
  switch (point) {
    case 'before-intent':
      return 'crash before the intent';
    case 'intent-stored':
      return 'crash before the call';
    case 'answered':
      return 'crash after the call';
    case 'answer-stored':
      return 'crash after the answer was stored';
    case 'lost-answer':
      return 'the call is made and its answer lost';
  }
}

function sqlOf(statements: readonly string[] | undefined, at: number): string {
  const text = statements?.[at - 1];
  return text === undefined ? 'its last statement' : inShort(text);
}

/** Of a statement's text, in characters. */
const MAX_SQL = 60;

/** A statement's beginning, quoted. */
function inShort(sql: string): string {
  const text = sql.replaceAll(/\s+/g, ' ').trim();
  return `\`${text.length <= MAX_SQL ? text : `${text.slice(0, MAX_SQL - 1)}…`}\``;
}

import type { DeliveryKind } from '../testing/sequences.js';

/** What a worker is in the middle of when it dies, or what it never hears of. */
export type OperationPoint = 'before-intent' | 'intent-stored' | 'answered' | 'answer-stored' | 'lost-answer';

export const OPERATION_POINTS: readonly OperationPoint[] = [
  'before-intent',
  'intent-stored',
  'answered',
  'answer-stored',
  'lost-answer',
];

export type Fault =
  /** The session is lost before or after the statement of that number, from 1, of the event's transaction. */
  | { readonly kind: 'statement'; readonly when: 'before' | 'after'; readonly at: number }
  /** At a point of the operation of that number, from 1, among those performed after the event. */
  | { readonly kind: 'operation'; readonly operation: number; readonly point: OperationPoint };

/** Something that acts: an event's run, or a step of the application. Numbers count from 0 in the proof's order. */
export type Actor =
  | { readonly kind: 'event'; readonly event: number; readonly as: DeliveryKind }
  | { readonly kind: 'step'; readonly step: number };

/** One line of a schedule. */
export type Move =
  | { readonly kind: 'alone'; readonly actor: Actor; readonly fault: Fault | null }
  /**
   * Two at once, statement by statement: the first sends as many statements as `turns` says first, then the other as
   * many as it says next, and so on; after the last number each goes on as far as it comes.
   */
  | { readonly kind: 'both'; readonly actors: readonly [Actor, Actor]; readonly turns: readonly number[] };

export type Schedule = readonly Move[];

export function alone(actor: Actor, fault: Fault | null = null): Move {
  return { kind: 'alone', actor, fault };
}

export function actorsOf(move: Move): readonly Actor[] {
  return move.kind === 'alone' ? [move.actor] : move.actors;
}

/**
 * A schedule as a short text, for the command line: `2,1:before4,1copy,s1,1+2:4.1`. Event and step numbers count from 1.
 */
export function encodeSchedule(schedule: Schedule): string {
  return schedule.map(encodeMove).join(',');
}

function encodeMove(move: Move): string {
  if (move.kind === 'both') return `${move.actors.map(encodeActor).join('+')}:${move.turns.join('.')}`;
  return `${encodeActor(move.actor)}${encodeFault(move.fault)}`;
}

function encodeActor(actor: Actor): string {
  if (actor.kind === 'step') return `s${actor.step + 1}`;
  return `${actor.event + 1}${actor.as === 'first' ? '' : actor.as}`;
}

function encodeFault(fault: Fault | null): string {
  if (fault === null) return '';
  return fault.kind === 'statement' ? `:${fault.when}${fault.at}` : `:operation${fault.operation}.${fault.point}`;
}

const ACTOR = '(?:s\\d|\\d(?:again|copy)?)';
const BOTH = new RegExp(`^(${ACTOR})\\+(${ACTOR}):(\\d{1,4}(?:\\.\\d{1,4})*)$`);
const ALONE = new RegExp(
  `^(${ACTOR})(?::(before|after)(\\d{1,4})|:operation(\\d{1,3})\\.(${OPERATION_POINTS.join('|')}))?$`,
);

/** @returns undefined for a text that is not a schedule of this many events and steps */
export function parseSchedule(
  text: string,
  counts: { readonly events: number; readonly steps: number },
): Schedule | undefined {
  const moves = text.split(',').map(parseMove);
  const schedule = moves.filter((move) => move !== undefined);
  const isKnown = (actor: Actor): boolean =>
    actor.kind === 'step' ? inRange(actor.step, counts.steps) : inRange(actor.event, counts.events);
  const isWhole = schedule.length === moves.length && schedule.flatMap(actorsOf).every(isKnown);
  return isWhole ? schedule : undefined;
}

function inRange(value: number, below: number): boolean {
  return value >= 0 && value < below;
}

function parseMove(text: string): Move | undefined {
  const both = BOTH.exec(text);
  if (both !== null) {
    const [, first = '', second = '', turns = ''] = both;
    return { kind: 'both', actors: [parseActor(first), parseActor(second)], turns: turns.split('.').map(Number) };
  }
  const single = ALONE.exec(text);
  if (single === null) return undefined;
  const [, actor = '', when, at, operation, point] = single;
  if (when !== undefined) {
    return alone(parseActor(actor), {
      kind: 'statement',
      when: when === 'before' ? 'before' : 'after',
      at: Number(at),
    });
  }
  const known = OPERATION_POINTS.find((one) => one === point);
  if (known === undefined) return alone(parseActor(actor));
  return alone(parseActor(actor), { kind: 'operation', operation: Number(operation), point: known });
}

function parseActor(text: string): Actor {
  if (text.startsWith('s')) return { kind: 'step', step: Number(text.slice(1)) - 1 };
  const as = text.endsWith('again') ? 'again' : text.endsWith('copy') ? 'copy' : 'first';
  return { kind: 'event', event: Number(text.slice(0, 1)) - 1, as };
}

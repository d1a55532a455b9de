import { distinctActors } from './judge.js';
import { actorsOf, alone, type Actor, type Move, type Schedule } from './schedule.js';

/** Tries of one shrink; each plays a schedule or two. */
const MAX_TRIES = 300;

/**
 * The shortest schedule that still fails, as far as taking away, undoing and reordering one thing after the other finds
 * it.
 * @param fails whether a schedule shows the same mistake
 */
export async function shrink(schedule: Schedule, fails: (schedule: Schedule) => Promise<boolean>): Promise<Schedule> {
  let shortest = schedule;
  for (let tries = 0; ;) {
    let isShorter = false;
    for (const candidate of simpler(shortest)) {
      tries += 1;
      if (tries > MAX_TRIES) return shortest;
      if (await fails(candidate)) {
        shortest = candidate;
        isShorter = true;
        break;
      }
    }
    if (!isShorter) return shortest;
  }
}

/** Simpler schedules, the boldest first: each measures less than the given one, so the search ends. */
export function* simpler(schedule: Schedule): Generator<Schedule> {
  for (const actor of distinctActors(schedule)) yield* shorter(schedule, without(schedule, actor));
  for (const [at, move] of schedule.entries()) {
    yield* shorter(schedule, schedule.toSpliced(at, 1));
    for (const one of simplerMoves(move)) yield* shorter(schedule, schedule.toSpliced(at, 1, ...one));
  }
  yield* inOwnOrder(schedule);
}

function* shorter(schedule: Schedule, candidate: Schedule): Generator<Schedule> {
  if (candidate.length > 0 && isPossible(candidate) && weightOf(candidate) < weightOf(schedule)) yield candidate;
}

/** A duplicate needs something before it, or beside it, that it repeats; a step needs the steps before it. */
function isPossible(schedule: Schedule): boolean {
  const steps = schedule.flatMap(actorsOf).filter((actor) => actor.kind === 'step');
  if (!steps.every(({ step }, at) => step === at)) return false;
  const delivered = new Set<number>();
  return schedule.every((move) => {
    const events = actorsOf(move).filter((actor) => actor.kind === 'event');
    for (const { event, as } of events) if (as === 'first') delivered.add(event);
    return events.every(({ event }) => delivered.has(event));
  });
}

/** A move counts more than what is special about it. */
function weightOf(schedule: Schedule): number {
  return schedule.reduce((sum, move) => sum + 1_000 * actorsOf(move).length + specialsOf(move), 0);
}

function specialsOf(move: Move): number {
  if (move.kind === 'both') return 400 + 50 * move.turns.length + move.turns.reduce((sum, turn) => sum + turn, 0) / 100;
  const { actor, fault } = move;
  const repeated = actor.kind === 'event' && actor.as === 'copy' ? 10 : 0;
  return repeated + (fault === null ? 0 : 200 + (fault.kind === 'statement' ? fault.at / 100 : fault.operation));
}

function without(schedule: Schedule, actor: Actor): Schedule {
  const isOther = (one: Actor): boolean =>
    one.kind === 'step'
      ? actor.kind !== 'step' || one.step !== actor.step
      : actor.kind !== 'event' || one.event !== actor.event;
  return schedule.flatMap((move) => {
    const left = actorsOf(move).filter(isOther);
    if (left.length === actorsOf(move).length) return [move];
    return left.map((one) => alone(one));
  });
}

/** Each is what stands in the place of the one move. */
function* simplerMoves(move: Move): Generator<readonly Move[]> {
  if (move.kind === 'both') {
    const [first, second] = move.actors;
    yield [alone(first)];
    yield [alone(second)];
    yield [alone(first), alone(second)];
    yield [alone(second), alone(first)];
    if (move.turns.length > 1) yield [{ ...move, turns: move.turns.slice(0, -1) }];
    if (move.turns.length > 1) yield [{ ...move, turns: move.turns.slice(1) }];
    for (const [at, turn] of move.turns.entries()) {
      if (turn > 1) yield [{ ...move, turns: move.turns.with(at, turn - 1) }];
    }
    return;
  }
  const { actor, fault } = move;
  if (fault !== null) yield [alone(actor)];
  if (actor.kind === 'event' && actor.as === 'copy') yield [alone({ ...actor, as: 'again' }, fault)];
  if (fault?.kind === 'statement' && fault.at > 1) yield [alone(actor, { ...fault, at: fault.at - 1 })];
}

/** Neighbours that stand the other way round than in the proof are exchanged, where that is enough to fail. */
function* inOwnOrder(schedule: Schedule): Generator<Schedule> {
  const place = (move: Move): number => {
    const [actor] = actorsOf(move);
    if (actor === undefined || actor.kind === 'step') return actor === undefined ? 0 : actor.step;
    return 100 + actor.event;
  };
  for (let at = 0; at + 1 < schedule.length; at += 1) {
    const [one, other] = [schedule[at], schedule[at + 1]];
    if (one === undefined || other === undefined || place(one) <= place(other)) continue;
    yield schedule.toSpliced(at, 2, other, one);
  }
}

import { orders, type DeliveryKind } from '../testing/sequences.js';
import type { Random } from './random.js';
import {
  alone,
  encodeSchedule,
  OPERATION_POINTS,
  type Actor,
  type Fault,
  type Move,
  type Schedule,
} from './schedule.js';

/** What schedules can be made of. */
export interface Material {
  readonly events: number;
  readonly steps: number;
  /** By event: statements of the longest run of it that was seen. */
  readonly statements: readonly number[];
  /** By event: operations that were performed after it, at most. */
  readonly operations: readonly number[];
  /** How an event may come a second time. */
  readonly repeats: readonly Exclude<DeliveryKind, 'first'>[];
}

/**
 * Every order of the events, with the steps in their own order at every place among them, without crashes and
 * duplicates; the proof's own order first: steps stand before the events, as an application's own work mostly does.
 */
export function serialSchedules({ events, steps }: Pick<Material, 'events' | 'steps'>): readonly Schedule[] {
  return ordersOf([
    ...Array.from({ length: steps }, (_, step): Actor => ({ kind: 'step', step })),
    ...Array.from({ length: events }, (_, event): Actor => ({ kind: 'event', event, as: 'first' })),
  ]).map((actors) => actors.map((actor) => alone(actor)));
}

/** So many orders are always tried: six events have 720, and with one step 5,040. */
const ALL_ORDERS_UP_TO = 1_000;

/**
 * The orders that a proof tries, the own one first: all, where those are at most a thousand or no more than was asked
 * for. Otherwise every order of the events (720 at most) with the steps at random places in each, the same number in all.
 * @param wanted schedules that were asked for
 * @returns with `of`, how many there are
 */
export function ordersToTry(
  material: Pick<Material, 'events' | 'steps'>,
  wanted: number,
  random: Random,
): { readonly orders: readonly Schedule[]; readonly of: number } {
  const serial = serialSchedules(material);
  const most = Math.max(ALL_ORDERS_UP_TO, wanted);
  if (serial.length <= most) return { orders: serial, of: serial.length };
  const [own = [], ...others] = serial;
  const each = Math.max(1, Math.floor(most / orders(material.events).length));
  const taken = new Map<string, number>();
  const chosen = new Set(
    [own, ...random.shuffled(others)].filter((schedule) => {
      const name = encodeSchedule(schedule.filter(isEvent));
      const count = (taken.get(name) ?? 0) + 1;
      taken.set(name, count);
      return count <= each;
    }),
  );
  return { orders: serial.filter((schedule) => chosen.has(schedule)), of: serial.length };
}

function isEvent(move: Move): boolean {
  return actorOf(move)?.kind === 'event';
}

/** Every order of these in which steps stay as they are given: an application does one thing after the other. */
export function ordersOf(actors: readonly Actor[]): readonly (readonly Actor[])[] {
  return orders(actors.length)
    .filter((order) => isAscending(order.filter((at) => actors[at]?.kind === 'step')))
    .map((order) => order.flatMap((at) => actors.slice(at, at + 1)));
}

function isAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0));
}

/**
 * Every schedule with one duplicate, one crash, one lost answer, or two at once of which one is interrupted once by the
 * other, in every order of the events and steps. The own order first, and there from simple to complex, so that what is
 * found is easy to read.
 */
export function* singleFaultSchedules(serial: readonly Schedule[], material: Material): Generator<Schedule> {
  for (const schedule of serial) {
    for (const variants of [duplicated, crashed, withOperationFaults, sameAtOnce, neighboursAtOnce]) {
      yield* variants(schedule, material);
    }
  }
}

type Variants = (schedule: Schedule, material: Material) => Generator<Schedule>;

const duplicated: Variants = function* (schedule, { repeats }) {
  for (const [at, event] of eventMoves(schedule)) {
    for (const as of repeats) {
      for (let place = at + 1; place <= schedule.length; place += 1) {
        yield schedule.toSpliced(place, 0, alone({ kind: 'event', event, as }));
      }
    }
  }
};

const crashed: Variants = function* (schedule, material) {
  for (const [at, event] of eventMoves(schedule)) {
    for (const fault of statementFaults(material.statements[event] ?? 0)) yield withFault(schedule, at, fault);
  }
};

const withOperationFaults: Variants = function* (schedule, material) {
  for (const [at, event] of eventMoves(schedule)) {
    for (const fault of operationFaults(material.operations[event] ?? 0)) yield withFault(schedule, at, fault);
  }
};

/** Two attempts of one event, and an event with its copy. */
const sameAtOnce: Variants = function* (schedule, material) {
  for (const [at, event] of eventMoves(schedule)) {
    const first: Actor = { kind: 'event', event, as: 'first' };
    for (const as of material.repeats) {
      for (const turns of interruptions(material.statements[event] ?? 0)) {
        yield schedule.with(at, { kind: 'both', actors: [first, { ...first, as }], turns });
      }
    }
  }
};

const neighboursAtOnce: Variants = function* (schedule, material) {
  for (let at = 0; at + 1 < schedule.length; at += 1) {
    const pair = [actorOf(schedule[at]), actorOf(schedule[at + 1])] as const;
    const [first, second] = pair;
    if (first === undefined || second === undefined) continue;
    if (first.kind === 'step' && second.kind === 'step') continue;
    for (const turns of interruptions(statementsOf(first, material))) {
      yield schedule.toSpliced(at, 2, { kind: 'both', actors: [first, second], turns });
    }
  }
};

/** How many those are in one order. */
export function countSingleFaults(order: Schedule, material: Material): number {
  return [...singleFaultSchedules([order], material)].length;
}

/** A schedule in a random order with one to three faults of any kind. */
export function randomSchedule(serial: readonly Schedule[], material: Material, random: Random): Schedule {
  let schedule = pick(serial, random) ?? [];
  for (let faults = 1 + random.int(3); faults > 0; faults -= 1) schedule = withRandomFault(schedule, material, random);
  return schedule;
}

function withRandomFault(schedule: Schedule, material: Material, random: Random): Schedule {
  const at = random.int(schedule.length);
  const move = schedule[at];
  if (move?.kind !== 'alone' || move.actor.kind === 'step') return schedule;
  const { event } = move.actor;
  const statements = material.statements[event] ?? 0;
  switch (random.int(5)) {
    case 0: {
      const as = pick(material.repeats, random) ?? 'again';
      return schedule.toSpliced(at + 1 + random.int(schedule.length - at), 0, alone({ kind: 'event', event, as }));
    }
    case 1:
      return withFault(schedule, at, pick([...statementFaults(statements)], random) ?? null);
    case 2:
      return withFault(schedule, at, pick([...operationFaults(material.operations[event] ?? 0)], random) ?? null);
    case 3: {
      const other: Actor = { kind: 'event', event, as: pick(material.repeats, random) ?? 'again' };
      return schedule.with(at, { kind: 'both', actors: [move.actor, other], turns: randomTurns(statements, random) });
    }
    default: {
      const second = actorOf(schedule[at + 1]);
      if (second === undefined) return schedule;
      const turns = randomTurns(statements, random);
      return schedule.toSpliced(at, 2, { kind: 'both', actors: [move.actor, second], turns });
    }
  }
}

/** One to four changes of turn. */
function randomTurns(statements: number, random: Random): readonly number[] {
  return Array.from({ length: 1 + random.int(4) }, () => 1 + random.int(Math.max(statements - 1, 1)));
}

function pick<Item>(items: readonly Item[], random: Random): Item | undefined {
  return items[random.int(items.length)];
}

/** Before the first statement (`begin`) nothing has been done. */
function* statementFaults(statements: number): Generator<Fault> {
  for (let at = 1; at <= statements; at += 1) {
    if (at > 1) yield { kind: 'statement', when: 'before', at };
    yield { kind: 'statement', when: 'after', at };
  }
}

function* operationFaults(operations: number): Generator<Fault> {
  for (let operation = 1; operation <= operations; operation += 1) {
    for (const point of OPERATION_POINTS) yield { kind: 'operation', operation, point };
  }
}

/** After each statement but the last the other one runs, as far as it comes. */
function* interruptions(statements: number): Generator<readonly number[]> {
  for (let after = 1; after < statements; after += 1) yield [after];
}

/** A step's own are not counted: its transaction is three statements or a few more. */
const STATEMENTS_OF_STEP = 4;

function statementsOf(actor: Actor, material: Material): number {
  return actor.kind === 'step' ? STATEMENTS_OF_STEP : (material.statements[actor.event] ?? 0);
}

function withFault(schedule: Schedule, at: number, fault: Fault | null): Schedule {
  const move = schedule[at];
  return move?.kind === 'alone' ? schedule.with(at, alone(move.actor, fault)) : schedule;
}

function eventMoves(schedule: Schedule): readonly (readonly [number, number])[] {
  return schedule.flatMap((move, at) => {
    const actor = actorOf(move);
    return actor?.kind === 'event' ? [[at, actor.event] as const] : [];
  });
}

function actorOf(move: Move | undefined): Actor | undefined {
  return move?.kind === 'alone' ? move.actor : undefined;
}

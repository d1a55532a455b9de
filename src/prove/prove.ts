import type { Proof } from '../testing/proof.js';
import type { Cast } from './cast.js';
import { createJudge } from './judge.js';
import {
  countSingleFaults,
  randomSchedule,
  serialSchedules,
  singleFaultSchedules,
  type Material,
} from './plan-schedules.js';
import { seededRandom } from './random.js';
import { encodeSchedule, type Schedule } from './schedule.js';
import { shrink } from './shrink.js';
import { openStage, type Run, type Stage } from './stage.js';
import { isSameViolation, type Violation } from './violation.js';

export interface ProveOptions {
  readonly databaseUrl: string;
  readonly seed: number;
  /** How many schedules are tried where there are too many to try all. */
  readonly schedules: number;
  /** Only this one, as it is. */
  readonly only?: Schedule;
  readonly onProgress?: (tried: number, of: number) => void;
}

export interface Counterexample {
  readonly run: Run;
  readonly violation: Violation;
}

export interface Verdict {
  readonly cast: Cast;
  readonly counterexample: Counterexample | null;
  /** Schedules that were tried before the verdict; shrinking not counted. */
  readonly schedules: number;
  /** Whether every order, and every single fault in every order, was tried. */
  readonly exhaustive: boolean;
  readonly durationMs: number;
}

/** Somewhat more than was asked for are tried when those are all: a verdict without chance is worth it. */
const ALL_UP_TO_TIMES = 1.5;

/** So many more with several faults at once, when every single one was tried. */
const COMBINED_SHARE = 0.2;

/** Runs a proof: explores schedules until one fails, and shrinks that one. */
export async function prove(proof: Proof, options: ProveOptions): Promise<Verdict> {
  const startedAt = performance.now();
  const stage = await openStage(proof, options.databaseUrl);
  try {
    const found = await explore(proof, stage, options);
    return { ...found, cast: stage.cast, durationMs: performance.now() - startedAt };
  } finally {
    await stage.close();
  }
}

type Found = Pick<Verdict, 'counterexample' | 'schedules' | 'exhaustive'>;

async function explore(proof: Proof, stage: Stage, options: ProveOptions): Promise<Found> {
  const { judge } = createJudge(proof, stage.play);
  const random = seededRandom(options.seed);
  const material = newMaterial(stage.cast, proof);
  const tried = new Set<string>();
  let total = 0;

  /** The counterexample that this schedule is, if it is one. */
  const attempt = async (schedule: Schedule): Promise<Counterexample | null> => {
    const name = encodeSchedule(schedule);
    if (tried.has(name)) return null;
    tried.add(name);
    options.onProgress?.(tried.size, total);
    const run = await stage.play(schedule);
    learn(material, run);
    const violation = await judge(run);
    return violation === null ? null : { run, violation };
  };
  const verdictOf = async (found: Counterexample, exhaustive: boolean): Promise<Found> => {
    const counterexample = options.only === undefined ? await shrunk(found, stage, judge) : found;
    return { counterexample, schedules: tried.size, exhaustive };
  };
  const tryAll = async (schedules: Iterable<Schedule>): Promise<Counterexample | null> => {
    for (const schedule of schedules) {
      const found = await attempt(schedule);
      if (found !== null) return found;
    }
    return null;
  };

  if (options.only !== undefined) {
    const found = await attempt(options.only);
    return found === null ? { counterexample: null, schedules: 1, exhaustive: false } : verdictOf(found, false);
  }

  const serial = serialSchedules({ events: stage.cast.events.length, steps: stage.cast.steps.length });
  const half = Math.max(1, Math.floor(options.schedules / 2));
  const isAllSerial = serial.length <= half;
  // The events' own order stands first and is what all others are held against.
  const orders = isAllSerial ? serial : [...serial.slice(0, 1), ...random.shuffled(serial.slice(1)).slice(0, half - 1)];
  total = orders.length;
  const inOrders = await tryAll(orders);
  if (inOrders !== null) return verdictOf(inOrders, false);

  const count = countSingleFaults(serial, material);
  const isSmall = isAllSerial && serial.length + count <= options.schedules * ALL_UP_TO_TIMES;
  if (isSmall) {
    total = Math.floor((serial.length + count) * (1 + COMBINED_SHARE));
    const single = await tryAll(singleFaultSchedules(serial, material));
    if (single !== null) return verdictOf(single, false);
  } else {
    total = options.schedules;
    // What fails in the events' own order is the easiest to read, so that comes first.
    const own = random.shuffled([...singleFaultSchedules(serial.slice(0, 1), material)]);
    const found = await tryAll(own.slice(0, Math.max(0, Math.floor((total - tried.size) / 2))));
    if (found !== null) return verdictOf(found, false);
  }
  const combined = await tryAll(randomSchedules(serial, material, random, () => total - tried.size));
  if (combined !== null) return verdictOf(combined, false);
  return { counterexample: null, schedules: tried.size, exhaustive: isSmall };
}

/** Random schedules while any are wanted; where few exist they come again, so tries are bounded. */
function* randomSchedules(
  serial: readonly Schedule[],
  material: Material,
  random: ReturnType<typeof seededRandom>,
  wanted: () => number,
): Generator<Schedule> {
  for (let tries = 20 * wanted(); tries > 0 && wanted() > 0; tries -= 1) yield randomSchedule(serial, material, random);
}

async function shrunk(
  found: Counterexample,
  stage: Stage,
  judge: (run: Run) => Promise<Violation | null>,
): Promise<Counterexample> {
  let shortest = found;
  await shrink(found.run.schedule, async (schedule) => {
    const run = await stage.play(schedule);
    const violation = await judge(run);
    if (violation === null || !isSameViolation(found.violation, violation)) return false;
    shortest = { run, violation };
    return true;
  });
  return shortest;
}

interface GrowingMaterial extends Material {
  readonly statements: number[];
  readonly operations: number[];
}

function newMaterial({ events, steps }: Cast, { equalContent }: Proof): GrowingMaterial {
  return {
    events: events.length,
    steps: steps.length,
    statements: events.map(() => 0),
    operations: events.map(() => 0),
    repeats: equalContent === 'another_fact' ? ['again'] : ['again', 'copy'],
  };
}

/** Longest runs seen of each event without trouble: only those have every statement. */
function learn(material: GrowingMaterial, { happenings }: Run): void {
  for (const { move, statements, performed, lostAt } of happenings) {
    if (move.kind !== 'alone' || move.fault !== null || lostAt !== null) continue;
    if (move.actor.kind !== 'event' || move.actor.as !== 'first') continue;
    const { event } = move.actor;
    material.statements[event] = Math.max(material.statements[event] ?? 0, statements[0]?.length ?? 0);
    material.operations[event] = Math.max(material.operations[event] ?? 0, performed.length);
  }
}

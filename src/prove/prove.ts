import { CommandError } from '../errors.js';
import type { Proof } from '../testing/proof.js';
import { openScratchDatabase, type ScratchDatabase } from '../testing/scratch-database.js';
import type { Cast } from './cast.js';
import { createJudge } from './judge.js';
import {
  countSingleFaults,
  ordersToTry,
  randomSchedule,
  singleFaultSchedules,
  type Material,
} from './plan-schedules.js';
import { seededRandom } from './random.js';
import { encodeSchedule, type Schedule } from './schedule.js';
import { shrink } from './shrink.js';
import { openStage, type Run, type Stage } from './stage.js';
import { isSameViolation, type Violation } from './violation.js';

export interface ProveOptions {
  /** A scratch database without the proof's tables; stays the caller's to drop. */
  readonly database: ScratchDatabase;
  readonly seed: number;
  /** How many schedules are tried where there are too many to try all; see `explore`. */
  readonly schedules: number;
  /** Only this one, as it is. */
  readonly only?: Schedule;
  /** Ends the proof between two schedules, with its reason as the error. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** How far a proof is. `of` is an estimate until every order was tried, since runs are longer in some than in others. */
export interface Progress {
  readonly tried: number;
  readonly of: number;
}

export interface Counterexample {
  readonly run: Run;
  readonly violation: Violation;
}

export interface Verdict extends Explored {
  readonly cast: Cast;
  readonly durationMs: number;
}

export interface Explored {
  readonly counterexample: Counterexample | null;
  /** Schedules that were tried before the verdict; shrinking not counted. */
  readonly schedules: number;
  /** Orders of events and steps without any fault: how many there are, and how many were to be tried. */
  readonly orders: { readonly tried: number; readonly of: number };
  /** What became of each event in the order in which the proof gives them, by name; see `Run`. */
  readonly outcomes: Readonly<Record<string, string>>;
  /** Whether every order, and every single fault in every order, was tried. */
  readonly exhaustive: boolean;
}

/** Somewhat more than was asked for are tried when those are all: a verdict without chance is worth it. */
const ALL_UP_TO_TIMES = 1.5;

/** So many more with several faults at once, as a share of what is tried for certain or asked for. */
const COMBINED_SHARE = 0.2;

/** A session for each of two attempts, for invariants and for `state`, and for the watch over locks; some to spare. */
const CONNECTIONS = 6;

export function openProofDatabase(databaseUrl: string): Promise<ScratchDatabase> {
  return openScratchDatabase({ databaseUrl, connections: CONNECTIONS });
}

/** Runs a proof: explores schedules until one fails, and shrinks that one. */
export async function prove(proof: Proof, options: ProveOptions): Promise<Verdict> {
  const startedAt = performance.now();
  const stage = await openStage(proof, options.database);
  try {
    const explored = await explore(proof, stage, options);
    return { ...explored, cast: stage.cast, durationMs: performance.now() - startedAt };
  } finally {
    stage.close();
  }
}

/**
 * Tries, until one fails:
 * 1. every order (see `ordersToTry` for more than a thousand), and every single fault of the proof's own order;
 * 2. every single fault in every other order, where all of that is about as much as was asked for;
 * 3. random schedules, most of them with several faults, until as many were tried as was asked for: at least a fifth of
 *    that, or of 1 and 2 where those are all.
 */
export async function explore(
  proof: Proof,
  stage: Pick<Stage, 'cast' | 'play'>,
  options: Omit<ProveOptions, 'database'>,
): Promise<Explored> {
  const play: Stage['play'] = (schedule) => {
    options.signal?.throwIfAborted();
    return stage.play(schedule);
  };
  const { judge } = createJudge(proof, play);
  const random = seededRandom(options.seed);
  const material = newMaterial(stage.cast, proof);
  const { orders, of: allOrders } = ordersToTry(material, options.schedules, random);
  const [own = []] = orders;
  const tried = new Set<string>();
  let outcomes: Run['outcomes'] = {};
  let isAnyApplied = false;
  const asked = { orders: orders.length, allOrders, schedules: options.schedules };
  let extent: Extent = { isSmall: false, total: options.only === undefined ? options.schedules : 1 };

  /** The counterexample that this schedule is, if it is one. */
  const attempt = async (schedule: Schedule): Promise<Counterexample | null> => {
    const name = encodeSchedule(schedule);
    if (tried.has(name)) return null;
    tried.add(name);
    options.onProgress?.({ tried: tried.size, of: extent.total });
    const run = await play(schedule);
    learn(material, run);
    if (name === encodeSchedule(own)) ({ outcomes } = run);
    isAnyApplied ||= Object.values(run.outcomes).some((outcome) => outcome.startsWith('applied'));
    const violation = await judge(run);
    return violation === null ? null : { run, violation };
  };
  const tryAll = async (schedules: Iterable<Schedule>): Promise<Counterexample | null> => {
    for (const schedule of schedules) {
      const found = await attempt(schedule);
      if (found !== null) return found;
    }
    return null;
  };
  const explored = (counterexample: Counterexample | null): Explored => ({
    counterexample,
    schedules: tried.size,
    orders: { tried: orders.length, of: allOrders },
    outcomes,
    exhaustive: counterexample === null && extent.isSmall,
  });
  const inParts = async (): Promise<Counterexample | null> => {
    // The own order is what all others are held against, and says how much there is to try.
    const inOwn = await attempt(own);
    extent = extentOf(asked, countSingleFaults(own, material));
    const inOrders = inOwn ?? (await tryAll(orders));
    extent = extentOf(asked, countSingleFaults(own, material));
    if (inOrders === null && !isAnyApplied) throw nothingApplied(proof, outcomes);
    const single = inOrders ?? (await tryAll(singleFaultSchedules(extent.isSmall ? orders : [own], material)));
    return single ?? (await tryAll(randomSchedules(orders, material, random, () => extent.total - tried.size)));
  };

  if (options.only !== undefined) return explored(await attempt(options.only));
  const found = await inParts();
  return explored(found === null ? null : await shrunk(found, play, judge));
}

interface Extent {
  /** Whether every single fault in every order is tried. */
  readonly isSmall: boolean;
  /** Schedules in all. */
  readonly total: number;
}

/** @param faults single faults of one order */
function extentOf(
  asked: { readonly orders: number; readonly allOrders: number; readonly schedules: number },
  faults: number,
): Extent {
  const { orders, allOrders, schedules } = asked;
  const all = allOrders * (1 + faults);
  if (orders === allOrders && all <= schedules * ALL_UP_TO_TIMES) {
    return { isSmall: true, total: Math.floor(all * (1 + COMBINED_SHARE)) };
  }
  return { isSmall: false, total: Math.max(schedules, orders + faults + Math.ceil(schedules * COMBINED_SHARE)) };
}

/** Handlers that do nothing do it right in every order: most likely the proof is not about what it seems to be. */
function nothingApplied({ handlers }: Proof, outcomes: Run['outcomes']): CommandError {
  return new CommandError(
    'usage',
    [
      'No event of this proof is applied in any order, so that nothing would be proven:',
      ...Object.entries(outcomes).map(([name, outcome]) => `  ${name}: ${outcome}`),
      `There are handlers for ${[...handlers.handlers.keys()].join(', ')}. Is a type misspelt, or a row missing in given?`,
    ].join('\n'),
  );
}

/** Random schedules while any are wanted; where few exist they come again, so tries are bounded. */
function* randomSchedules(
  orders: readonly Schedule[],
  material: Material,
  random: ReturnType<typeof seededRandom>,
  wanted: () => number,
): Generator<Schedule> {
  for (let tries = 20 * wanted(); tries > 0 && wanted() > 0; tries -= 1) yield randomSchedule(orders, material, random);
}

async function shrunk(
  found: Counterexample,
  play: Stage['play'],
  judge: (run: Run) => Promise<Violation | null>,
): Promise<Counterexample> {
  let shortest = found;
  await shrink(found.run.schedule, async (schedule) => {
    const run = await play(schedule);
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

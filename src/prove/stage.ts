import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import type { AnyOperationDefinition } from '../api/operations.js';
import { inTransaction } from '../db/transaction.js';
import type { EventKey } from '../domain/event.js';
import { isSettledForRun } from '../domain/operation.js';
import { CheckpointError, CommandError } from '../errors.js';
import { ageOperation, createProcessing, readOperations, type Processing } from '../testing/processing.js';
import type { Proof } from '../testing/proof.js';
import { rememberTables } from '../testing/reset-tables.js';
import type { ScratchDatabase } from '../testing/scratch-database.js';
import { withStandIns } from '../testing/stand-in-operations.js';
import { newAttempt, type Attempt } from './attempt.js';
import { castOf, eventOf, stepOf, type Cast } from './cast.js';
import { createControlledPool, type ControlledPool } from './controlled-pool.js';
import { asJson, endOfOperation, unordered, type End } from './end.js';
import { A_CONNECTION, watchOutsideCalls } from './outside-calls.js';
import { lostAnswer } from './lost-answer.js';
import { actorsOf, type Actor, type Fault, type Move, type OperationPoint, type Schedule } from './schedule.js';
import { createTurns, type Lane } from './turns.js';
import type { Violation } from './violation.js';

/** What happened in one move of a schedule. */
export interface Happening {
  readonly move: Move;
  /** By actor: `done, applied`, `waits: unknown_order`; null for a step. */
  readonly results: readonly (string | null)[];
  /** By actor: what its run sent. */
  readonly statements: readonly (readonly string[])[];
  /** The statement at which the session was lost. */
  readonly lostAt: string | null;
  /** Keys of the operations that were performed after it. */
  readonly performed: readonly string[];
}

export interface Run {
  readonly schedule: Schedule;
  readonly happenings: readonly Happening[];
  readonly end: End;
  /** What became of each event in the end, by name: `applied`, `ignored (unknown_order)`, `quarantined (amount)`. */
  readonly outcomes: Readonly<Record<string, string>>;
  /** Found while it ran; its end is judged by others. */
  readonly violation: Violation | null;
}

/** A database with a proof's tables, on which schedules are played one after the other. */
export interface Stage {
  readonly cast: Cast;
  readonly play: (schedule: Schedule) => Promise<Run>;
  readonly close: () => void;
}

/** Waits are looked at again after this long, and have ended after the second, in milliseconds. */
const LATER_MS = 10 * 60_000;
const PAST_HORIZON_MS = 2 * 3_600_000;

/** An attempt in `sending` counts as dead after this, in milliseconds; beyond every limit of an attempt. */
const PAST_LEASE_MS = 60_000;

interface Scene {
  readonly proof: Proof;
  readonly cast: Cast;
  readonly database: ScratchDatabase;
  readonly controlled: ControlledPool;
  readonly processing: Processing;
  readonly notes: Notes;
  readonly faults: OperationFaults;
}

/** What is noted while a schedule runs. */
interface Notes {
  violation: Violation | null;
}

/** The point at which the operation that is performed now fails. */
interface OperationFaults {
  armed: OperationPoint | null;
}

/** @param database without the proof's tables; stays the caller's to drop */
export async function openStage(proof: Proof, database: ScratchDatabase): Promise<Stage> {
  await ofProof('setup', () => proof.setup?.(database));
  const reset = await rememberTables(database.pool);
  const cast = castOf(proof);
  const notes: Notes = { violation: null };
  const faults: OperationFaults = { armed: null };
  const controlled = createControlledPool(database.pool, async () => {
    const broken = await brokenInvariant(proof, database);
    if (broken !== null) note(notes, proof, broken);
  });
  const processing = createProcessing({
    applyPool: controlled.pool,
    pool: database.pool,
    source: proof.source ?? 'stripe',
    tenant: proof.tenant ?? 'default',
    handlers: watchedHandlers(proof, notes),
    operations: withStandIns(proof.operations ?? []).map((definition) => withLostAnswers(definition, faults)),
    fetch: proof.fetch ?? (() => ({ kind: 'unavailable' })),
    checkpoints: (name) => {
      if (faults.armed === null || name !== `operation.${faults.armed}`) return Promise.resolve();
      faults.armed = null;
      return Promise.reject(new CheckpointError(`checkpoint ${name}`));
    },
  });
  await warmUp(database.pool);
  const stopWatching = watchOutsideCalls((call) => {
    if (controlled.current()?.isInTransaction !== true) return;
    // A request says more than the connection that it is made over, which is told of first.
    if (notes.violation?.kind === 'outside_call' && notes.violation.text.startsWith(A_CONNECTION))
      notes.violation = null;
    note(notes, proof, { kind: 'outside_call', text: `${call} while its transaction was open` });
  });
  const scene: Scene = { proof, cast, database, controlled, processing, notes, faults };
  return {
    cast,
    play: async (schedule) => {
      await reset();
      await ofProof('reset', () => proof.reset?.());
      await ofProof('given', () => proof.given?.(database));
      const broken = await brokenInvariant(proof, database);
      if (broken !== null) {
        throw new CommandError(
          'usage',
          `The invariant "${broken.name}" does not hold before the first event: ${broken.text}`,
        );
      }
      notes.violation = null;
      return play(scene, schedule);
    },
    close: stopWatching,
  };
}

/** Sessions that are opened by an attempt would look like its own connections. */
async function warmUp(pool: Pool): Promise<void> {
  const clients = await Promise.all(Array.from({ length: 4 }, () => pool.connect()));
  for (const client of clients) client.release();
}

async function play(scene: Scene, schedule: Schedule): Promise<Run> {
  const happenings: Happening[] = [];
  for (const move of schedule) happenings.push(await make(scene, move));
  await settle(scene);
  return { schedule, happenings, ...(await readEnd(scene, schedule)), violation: scene.notes.violation };
}

async function make(scene: Scene, move: Move): Promise<Happening> {
  for (const actor of actorsOf(move)) {
    if (actor.kind === 'event') await scene.processing.store(eventOf(scene.cast, actor.event, actor.as));
  }
  const attempts = move.kind === 'alone' ? [await actAlone(scene, move)] : await actTogether(scene, move);
  const performed = await performOperations(scene, move.kind === 'alone' ? move.fault : null);
  if (attempts.some(({ attempt }) => attempt.deadlocks > 0)) {
    if (scene.proof.deadlocks !== 'allow') scene.notes.violation ??= { kind: 'deadlock' };
  }
  return {
    move,
    results: attempts.map(({ result }) => result),
    statements: attempts.map(({ attempt }) => attempt.statements),
    lostAt: attempts.find(({ attempt }) => attempt.lostAt !== null)?.attempt.lostAt ?? null,
    performed,
  };
}

interface Acted {
  readonly attempt: Attempt;
  readonly result: string | null;
}

async function actAlone(scene: Scene, move: Extract<Move, { kind: 'alone' }>): Promise<Acted> {
  const fault = move.fault?.kind === 'statement' ? { when: move.fault.when, at: move.fault.at } : null;
  return act(scene, move.actor, newAttempt(fault, null));
}

async function actTogether(
  scene: Scene,
  { actors, turns: pattern }: Extract<Move, { kind: 'both' }>,
): Promise<readonly Acted[]> {
  const turns = createTurns(pattern, async (backend) => {
    const { rows } = await scene.database.pool.query<{ blocked: boolean }>(
      'select cardinality(pg_blocking_pids($1)) > 0 as blocked',
      [backend],
    );
    return rows[0]?.blocked === true;
  });
  const inLane = async (actor: Actor, lane: Lane): Promise<Acted> => {
    try {
      return await act(scene, actor, newAttempt(null, lane));
    } finally {
      lane.ended();
    }
  };
  const acted = [inLane(actors[0], turns.lanes[0]), inLane(actors[1], turns.lanes[1])];
  const [results] = await Promise.all([Promise.allSettled(acted), turns.conduct()]);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

async function act(scene: Scene, actor: Actor, attempt: Attempt): Promise<Acted> {
  const { controlled, cast } = scene;
  if (actor.kind === 'event') {
    const event = eventOf(cast, actor.event, actor.as);
    return { attempt, result: await controlled.run(attempt, () => applyNoted(scene, event)) };
  }
  const { name, run } = stepOf(cast, actor.step);
  const inOneTransaction = (): Promise<unknown> => inTransaction(controlled.pool, (tx) => Promise.resolve(run(tx)));
  await ofProof(`step "${name}"`, () => controlled.run(attempt, inOneTransaction));
  return { attempt, result: null };
}

async function applyNoted({ processing, notes }: Scene, key: EventKey): Promise<string> {
  const { result, defect } = await processing.apply(key);
  if (result.kind === 'quarantined' && result.reason === 'handler_error') {
    notes.violation ??= { kind: 'defect', text: textOf(defect) };
  }
  switch (result.kind) {
    case 'done':
      return `done, ${result.outcome}${result.reason === null ? '' : ` (${result.reason})`}`;
    case 'wait':
      return `waits: ${result.reason}`;
    case 'quarantined':
      return `quarantined: ${result.reason}`;
    case 'missing':
      return 'missing';
  }
}

/** Each to its end; one of them with a fault at a point of its first attempt. */
async function performOperations(scene: Scene, fault: Fault | null): Promise<readonly string[]> {
  const { database, processing, faults } = scene;
  const performed: string[] = [];
  for (const { key, status } of await readOperations(database.pool)) {
    if (isSettledForRun(status)) continue;
    performed.push(key);
    if (fault?.kind === 'operation' && fault.operation === performed.length) faults.armed = fault.point;
    await performThroughCrash(processing, database.pool, key);
  }
  faults.armed = null;
  return performed;
}

async function performThroughCrash(processing: Processing, pool: Pool, key: string): Promise<void> {
  try {
    await processing.perform(key);
  } catch (error) {
    if (!(error instanceof CheckpointError)) throw error;
    await ageOperation(pool, key, PAST_LEASE_MS);
    await processing.perform(key);
  }
}

/** What waits is run again until nothing changes, later once more, and in the end as one whose time is up. */
async function settle(scene: Scene): Promise<void> {
  if ((await runWaiting(scene)) === 'all_settled') return;
  for (const ms of [LATER_MS, PAST_HORIZON_MS]) {
    await scene.processing.age(ms);
    await runWaiting(scene);
  }
}

async function runWaiting(scene: Scene): Promise<'all_settled' | 'some_wait'> {
  for (let before: readonly EventKey[] = []; ;) {
    const waiting = await waitingEvents(scene);
    if (waiting.length === 0) return 'all_settled';
    if (isDeepStrictEqual(waiting, before)) return 'some_wait';
    for (const key of waiting) await scene.controlled.run(newAttempt(null, null), () => applyNoted(scene, key));
    await performOperations(scene, null);
    before = waiting;
  }
}

async function waitingEvents({ database }: Scene): Promise<readonly EventKey[]> {
  const { rows } = await database.pool.query<EventKey>(
    `select source_scope as scope, event_id as "eventId"
       from oncehook.webhook_inbox
      where status = 'pending'
      order by received_at, event_id`,
  );
  return rows;
}

async function readEnd({ proof, cast, database }: Scene, schedule: Schedule): Promise<Pick<Run, 'end' | 'outcomes'>> {
  const { rows } = await database.pool.query<EventKey & Stand>(
    `select source_scope as scope,
            event_id as "eventId",
            case status
              when 'done' then 'done'
              when 'quarantined' then 'quarantined: ' || reason
              else 'waiting: ' || coalesce(last_error, 'never run')
            end as stand,
            case status when 'done' then outcome else status end || coalesce(' (' || reason || ')', '') as outcome
       from oncehook.webhook_inbox`,
  );
  const standOf = (key: EventKey): Stand =>
    rows.find(({ scope, eventId }) => scope === key.scope && eventId === key.eventId) ?? MISSING;
  const delivered = schedule.flatMap(actorsOf).filter((actor) => actor.kind === 'event');
  const byName = (as: 'copy' | 'itself', field: keyof Stand): Record<string, string> =>
    Object.fromEntries(
      delivered
        .filter((actor) => (actor.as === 'copy') === (as === 'copy'))
        .map((actor) => [cast.events[actor.event]?.name ?? '', standOf(eventOf(cast, actor.event, actor.as))[field]]),
    );
  const operations = await readOperations(database.pool);
  const end: End = {
    state: asJson(await ofProof('state', () => proof.state(database))),
    outside: unordered(asJson(await ofProof('effects', () => proof.effects?.()))),
    operations: Object.fromEntries(operations.map((operation) => [operation.key, endOfOperation(operation)])),
    events: byName('itself', 'stand'),
    copies: byName('copy', 'stand'),
  };
  return { end, outcomes: byName('itself', 'outcome') };
}

/** Where an event is in the end, for comparing and for people. */
interface Stand {
  readonly stand: string;
  readonly outcome: string;
}

const MISSING: Stand = { stand: 'missing', outcome: 'missing' };

type BrokenInvariant = Extract<Violation, { kind: 'invariant' }>;

async function brokenInvariant(proof: Proof, database: ScratchDatabase): Promise<BrokenInvariant | null> {
  for (const [name, holds] of Object.entries(proof.invariants ?? {})) {
    const text = await brokenBy(holds, database);
    if (text !== null) return { kind: 'invariant', name, text };
  }
  return null;
}

/** What is wrong, or null: `true` and nothing at all mean that it holds. */
async function brokenBy(holds: (db: ScratchDatabase) => unknown, database: ScratchDatabase): Promise<string | null> {
  try {
    const answer = await holds(database);
    if (answer === false) return 'it is false';
    return typeof answer === 'string' ? answer : null;
  } catch (error) {
    return textOf(error);
  }
}

/** The stand-ins' books tell of calls that go through no socket. */
function watchedHandlers(proof: Proof, notes: Notes): Proof['handlers'] {
  const { effects } = proof;
  if (effects === undefined || proof.outsideCalls === 'allow') return proof.handlers;
  const watched = [...proof.handlers.handlers].map(([type, handlers]) => {
    const all = handlers.map((handler): typeof handler => async (event, tx) => {
      const before = asJson(await effects());
      try {
        return await handler(event, tx);
      } finally {
        const after = asJson(await effects());
        // Two handlers at once may each see what the other one did: both are inside their transactions.
        if (!isDeepStrictEqual(before, after)) {
          note(notes, proof, { kind: 'outside_call', text: `the handler of ${type} changed what effects() tells` });
        }
      }
    });
    return [type, all] as const;
  });
  return { handlers: new Map(watched) };
}

function note(notes: Notes, proof: Proof, violation: Violation): void {
  if (violation.kind === 'outside_call' && proof.outsideCalls === 'allow') return;
  notes.violation ??= violation;
}

/** The call is made and its answer does not come back: a connection that breaks, as `fetch` tells it. */
function withLostAnswers(definition: AnyOperationDefinition, faults: OperationFaults): AnyOperationDefinition {
  return {
    ...definition,
    perform: async (attempt) => {
      const answer = await definition.perform(attempt);
      if (faults.armed !== 'lost-answer') return answer;
      faults.armed = null;
      throw lostAnswer();
    },
  };
}

/** The proof's own functions are the user's: what they throw is told as theirs, with the line that threw. */
async function ofProof<Result>(name: string, body: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new CommandError('usage', `The proof's ${name} failed: ${text}`, { cause: error });
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

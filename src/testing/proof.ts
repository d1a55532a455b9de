import type { FetchedObject, HandlerSet, Transaction } from '../api/handlers.js';
import type { AnyOperationDefinition } from '../api/operations.js';
import type { FetchReference } from '../domain/outcome.js';
import type { TestDatabase } from './scratch-database.js';
import type { DeliverableEvent } from './test-event.js';

/**
 * What of an end may depend on the order in which events arrive.
 * - `state`: what `state` reads. `effects`: what happened outside, and the operations.
 * - `events`: which events are done, and which are quarantined for what.
 */
export const PROOF_ASPECTS = ['state', 'effects', 'events'] as const;
export type ProofAspect = (typeof PROOF_ASPECTS)[number];

/** What `oncehook prove` runs and compares. */
export interface Proof {
  readonly handlers: HandlerSet;
  /** One's own kinds, with a stand-in for their other side; built-in kinds are confirmed and do nothing. */
  readonly operations?: readonly AnyOperationDefinition[];
  /** One to six, in the order in which things happened. Every other order of arrival is tried. */
  readonly events: readonly DeliverableEvent[];
  /**
   * What the application does itself meanwhile, by name, each in one transaction: one after the other as they stand here,
   * tried at every place among the events.
   */
  readonly steps?: Readonly<Record<string, (tx: Transaction) => unknown>>;
  /** Makes the tables, once. */
  readonly setup?: (db: TestDatabase) => unknown;
  /** Puts the rows in place that are there before the first event. */
  readonly given?: (db: TestDatabase) => unknown;
  /** The business state that has to agree in the end: anything that is JSON, without times and generated IDs. */
  readonly state: (db: TestDatabase) => unknown;
  /**
   * What happened outside, by the stand-ins' books: anything that is JSON. The order in a list, or in the lists of an
   * object, does not count.
   */
  readonly effects?: () => unknown;
  /** Empties the stand-ins' books. */
  readonly reset?: () => unknown;
  /** The provider for handlers that fetch first; nobody can be asked by default. */
  readonly fetch?: (reference: FetchReference) => FetchedObject | Promise<FetchedObject>;
  /** What has to hold after every commit, by name: false, a text that says what is wrong, or an error is a violation. */
  readonly invariants?: Readonly<Record<string, (db: TestDatabase) => unknown>>;
  /**
   * What the order of arrival may decide; nothing by default. Each schedule must then still end as some order of the
   * events ends without crashes and duplicates.
   */
  readonly arrivalMayDecide?: readonly ProofAspect[];
  /**
   * What the same content under a new event ID means: the `same_fact` (Stripe, by default), which must not count twice,
   * or `another_fact`, where a sender has nothing but the ID to tell two facts apart.
   */
  readonly equalContent?: 'same_fact' | 'another_fact';
  /** A deadlock is retried and costs time only; `allow` when that is accepted. `refuse` by default. */
  readonly deadlocks?: 'refuse' | 'allow';
  /** Connections that handlers open inside their transaction; `refuse` by default. */
  readonly outsideCalls?: 'refuse' | 'allow';
  /** `default` by default. */
  readonly tenant?: string;
  /** Configured name of the source; `stripe` by default. */
  readonly source?: string;
  /** Of events that name none; `stripe:default:test` by default. */
  readonly scope?: string;
}

/** More would have over 5,000 orders together with the steps. */
const MAX_EVENTS = 6;
const MAX_PARTS = 7;

/**
 * Checks and returns what `oncehook prove` is to run; export it as `proof` or by default.
 * @throws TypeError saying what is missing
 */
export function defineProof(proof: Proof): Proof {
  const problems = problemsOf(proof);
  if (problems.length > 0) throw new TypeError(`This proof cannot be run:\n- ${problems.join('\n- ')}`);
  return proof;
}

/** JavaScript files have no types, so nothing is taken for granted. */
function problemsOf(proof: Proof): readonly string[] {
  const given: Partial<Record<keyof Proof, unknown>> = { ...proof };
  const problems: string[] = [];
  if (!isHandlerSet(given.handlers)) problems.push('handlers must be what defineHandlers() returns');
  if (typeof given.state !== 'function') problems.push('state must be a function that reads what has to agree');
  const events = Array.isArray(given.events) ? (given.events as readonly Partial<DeliverableEvent>[]) : [];
  const steps = Object.keys(proof.steps ?? {});
  if (events.length === 0 || events.length > MAX_EVENTS) problems.push(`events must be one to ${MAX_EVENTS} events`);
  if (events.length + steps.length > MAX_PARTS) {
    problems.push(`events and steps must be at most ${MAX_PARTS} together`);
  }
  if (!events.every(({ type }) => typeof type === 'string' && type !== '')) problems.push('every event needs a type');
  for (const aspect of proof.arrivalMayDecide ?? []) {
    if (!PROOF_ASPECTS.includes(aspect)) {
      problems.push(`arrivalMayDecide may name ${PROOF_ASPECTS.join(', ')}, not ${aspect}`);
    }
  }
  return problems;
}

function isHandlerSet(value: unknown): value is HandlerSet {
  // Not instanceof: the file may have come through another copy of the package.
  if (typeof value !== 'object' || value === null || !('handlers' in value)) return false;
  return Object.prototype.toString.call(value.handlers) === '[object Map]';
}

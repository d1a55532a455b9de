import type { Pool } from 'pg';
import type { FetchedObject, FetchReference, ObjectFetch } from '../src/domain/outcome.js';
import { textWithCauses } from '../src/db/error-kinds.js';
import { DeadlineError, HandlerDefectError } from '../src/errors.js';
import { startDeadline } from '../src/operations/deadline.js';
import { isProviderTrouble } from './fetch-trouble.js';

/** One fetch of a handler's own, in milliseconds; the apply step as a whole may take 15 s. */
const OWN_FETCH_LIMIT_MS = 5_000;
/** How long it may take to end after it was told to. */
const OWN_FETCH_GRACE_MS = 500;

/** What was fetched for one event so far, by who fetched it: the source's provider, or a fetch of the handler's own. */
export interface FetchedObjects {
  readonly get: (reference: FetchReference, by?: ObjectFetch) => FetchedObject | undefined;
  readonly set: (reference: FetchReference, by: ObjectFetch | undefined, object: FetchedObject) => void;
}

export function createFetchedObjects(): FetchedObjects {
  const found = new Map<ObjectFetch | undefined, Map<string, FetchedObject>>();
  const keyOf = ({ type, id }: FetchReference): string => `${type}:${id}`;
  return {
    get: (reference, by) => found.get(by)?.get(keyOf(reference)),
    set: (reference, by, object) => {
      const ofFetcher = found.get(by) ?? new Map<string, FetchedObject>();
      found.set(by, ofFetcher.set(keyOf(reference), object));
    },
  };
}

/** Objects that a handler asked for, and who is asked. */
export interface FetchAsk {
  readonly references: readonly FetchReference[];
  /** The handler's own fetch; without it the source's. */
  readonly by?: ObjectFetch;
}

/** What all handlers of an event asked for in one round. */
export interface FetchRequest {
  readonly asks: readonly FetchAsk[];
  readonly scope: string;
  readonly tenant: string;
}

/**
 * Fetches outside of any transaction, once what several handlers asked the same one for. Before each fetch a number is
 * drawn that says when it began in relation to all others: what a fetch brings includes every change that was made
 * before its number was drawn.
 * @throws DeadlineError when the provider cannot be asked; HandlerDefectError when a fetch of the handler's own throws
 * for another reason or answers nonsense.
 */
export async function fetchObjects(
  pool: Pool,
  request: FetchRequest,
  bySource: (scope: string, reference: FetchReference) => Promise<FetchedObject>,
  into: FetchedObjects,
): Promise<void> {
  const round = createFetchedObjects();
  for (const { references, by } of request.asks) {
    for (const reference of references) {
      if (round.get(reference, by) !== undefined) continue;
      const order = await drawOrder(pool);
      const object = by === undefined ? await bySource(request.scope, reference) : await askOwn(by, reference, request);
      round.set(reference, by, object);
      into.set(reference, by, { ...object, order });
    }
  }
}

async function drawOrder(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ order: string }>(`select nextval('oncehook.fetch_order')::text as order`);
  const [row] = rows;
  if (row === undefined) throw new Error('The database gave no number');
  return row.order;
}

async function askOwn(
  fetch: ObjectFetch,
  reference: FetchReference,
  { scope, tenant }: FetchRequest,
): Promise<FetchedObject> {
  const deadline = startDeadline(OWN_FETCH_LIMIT_MS, OWN_FETCH_GRACE_MS);
  try {
    const work = callOwn(fetch, reference, { signal: deadline.signal, scope, tenant });
    return checkAnswer(await deadline.race(work));
  } catch (error) {
    if (error instanceof DeadlineError || error instanceof HandlerDefectError) throw error;
    const text = textWithCauses(error);
    if (deadline.signal.aborted || isProviderTrouble(error)) {
      throw new DeadlineError(`The handler's own fetch could not ask its provider: ${text}`, { cause: error });
    }
    throw new HandlerDefectError('handler_threw', `The handler's own fetch threw: ${text}`, { cause: error });
  } finally {
    deadline.release();
  }
}

/** A function that is not async throws at once: that is an answer like a rejection. */
async function callOwn(...[fetch, reference, context]: [ObjectFetch, ...Parameters<ObjectFetch>]): Promise<unknown> {
  return fetch(reference, context);
}

/** Narrows what a fetch returned; TypeScript cannot promise it for one written in JavaScript. */
function checkAnswer(value: unknown): FetchedObject {
  const answer = value as Partial<FetchedObject> | null | undefined;
  switch (answer?.kind) {
    case 'found':
      if ('object' in answer && answer.object !== undefined) return { kind: 'found', object: answer.object };
      break;
    case 'missing':
    case 'unavailable':
      return { kind: answer.kind };
    case undefined:
  }
  throw new HandlerDefectError(
    'handler_nonsense',
    "The handler's own fetch answered nonsense: return { kind: 'found', object }, { kind: 'missing' } or { kind: 'unavailable' }",
  );
}

import type { FetchedObject, FetchReference, HandlerOutcome, ObjectFetch } from '../domain/outcome.js';
import type { Handler, Transaction, WebhookEvent } from './handlers.js';
import { fetchFirst, ignored, quarantine, superseded } from './outcomes.js';

type Answer = HandlerOutcome | Promise<HandlerOutcome>;

/** How the state of one kind of object is kept. */
export interface LatestStateDefinition<Item> {
  /**
   * Names what is kept, 1 to 63 characters of lower snake case. Handlers that keep different things of the same objects
   * need different names; give one handler to all event types that it is for.
   */
  readonly name: string;
  /** Which object the event is about, by the provider's type and ID; `undefined` for none of ours: ignored. */
  readonly object: (event: WebhookEvent) => FetchReference | undefined;
  /**
   * Writes the object's state as it was fetched, under the object's lock. The event says only that something happened
   * to the object; what is true of it now is in `item`.
   */
  readonly apply: (item: Item, event: WebhookEvent, tx: Transaction) => Answer;
  /** What it means that the provider does not have the object, under the same lock. By default quarantined, `object_missing`. */
  readonly missing?: (reference: FetchReference, event: WebhookEvent, tx: Transaction) => Answer;
  /** Asks for the object where the source cannot: only Stripe sources with an API key do by themselves. */
  readonly fetch?: ObjectFetch;
}

const NAME_FORM = /^[a-z][a-z0-9_]{0,62}$/;

/** Sequences count in 64 bits, so JavaScript carries their numbers as digits. */
type Turn = 'taken' | 'newer_applied' | 'fetch_again';

/**
 * A handler for objects whose events may come in any order, such as subscriptions: any event leads to one fetch of the
 * object, outside the transaction. Under the object's lock what was fetched is applied only if no fetch that began
 * later has been applied; else the event is superseded. So the state that stands in the end is the newest one,
 * whatever the order of arrival, since the last fetch to begin began after the last change that an event told of.
 * A transaction takes its locks in this order: inbox row, the object's turn, then what `apply` locks.
 * @param definition `Item` is the object's type, for whose form the provider (or `fetch`) vouches.
 * @throws TypeError when the name is malformed.
 */
export function latestState<Item = unknown>(definition: LatestStateDefinition<Item>): Handler {
  if (!NAME_FORM.test(definition.name)) {
    throw new TypeError(`A latest-state name is lower snake case and at most 63 characters, not "${definition.name}"`);
  }
  return async (event, tx) => {
    const reference = definition.object(event);
    if (reference === undefined) return ignored();
    checkReference(reference, definition.name);
    const { fetch } = definition;
    const fetched = event.fetched(reference, fetch);
    if (fetched === undefined) return askFor(reference, fetch);
    if (fetched.kind === 'unavailable') return quarantine('object_unavailable');
    switch (await takeTurn(tx, definition.name, event, reference, fetched)) {
      case 'newer_applied':
        return superseded();
      case 'fetch_again':
        return askFor(reference, fetch);
      case 'taken':
        return act(definition, reference, fetched, event, tx);
    }
  };
}

function askFor(reference: FetchReference, by: ObjectFetch | undefined): HandlerOutcome {
  return by === undefined ? fetchFirst(reference) : { kind: 'fetchFirst', references: [reference], by };
}

function act<Item>(
  { apply, missing }: LatestStateDefinition<Item>,
  reference: FetchReference,
  fetched: Exclude<FetchedObject, { kind: 'unavailable' }>,
  event: WebhookEvent,
  tx: Transaction,
): Answer {
  // The definition's author says what the provider's objects of this type look like.
  if (fetched.kind === 'found') return apply(fetched.object as Item, event, tx);
  return missing === undefined ? quarantine('object_missing') : missing(reference, event, tx);
}

/** Locks the object to the end of the transaction and compares the fetch with the one that was applied last. */
async function takeTurn(
  tx: Transaction,
  name: string,
  event: WebhookEvent,
  { type, id }: FetchReference,
  { order }: FetchedObject,
): Promise<Turn> {
  if (order === undefined) throw new Error('The fetched object has no place in the order of fetches');
  const { rows } = await tx.query<{ turn: Turn }>(
    'select oncehook.take_object_turn($1, $2, $3, $4, $5::bigint, $6) as turn',
    [event.scope, name, type, id, order, event.eventId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The database did not say whose turn it is');
  return row.turn;
}

/** What a payload without the ID gives, such as `undefined`, should be found here and not in the provider's answer. */
function checkReference({ type, id }: FetchReference, name: string): void {
  const isText = (value: unknown): boolean =>
    typeof value === 'string' && value.length > 0 && value.length <= 255 && !value.includes('\0');
  if (isText(type) && isText(id)) return;
  throw new TypeError(
    `Latest state "${name}": object() must give a type and an ID of 1 to 255 characters, or undefined for no object`,
  );
}

import type { PoolClient } from 'pg';
import type { FetchedObject, FetchReference, HandlerOutcome, ObjectFetch } from '../domain/outcome.js';

export type { FetchedObject } from '../domain/outcome.js';

/**
 * The transaction that a handler writes in: a `pg` client inside an open transaction. `drizzle(tx)` takes it as it is,
 * Kysely takes `asPool(tx)`. Commit and rollback are oncehook's: a handler that ends the transaction itself is a defect,
 * and so is one that begins another in it (Drizzle's `transaction()`), since its commit would be ours.
 */
export type Transaction = PoolClient;

/** A verified, stored event as a handler sees it. */
export interface WebhookEvent {
  readonly scope: string;
  readonly eventId: string;
  readonly type: string;
  /** Name of the configured source that received it. */
  readonly source: string;
  /** The tenant that configuration gives this scope; never taken from the payload. */
  readonly tenant: string;
  readonly receivedAt: Date;
  /** When the sender says it happened; neither an order nor a key. */
  readonly providerCreatedAt: Date | null;
  /** The verified body, to the character. */
  readonly payloadText: string;
  /** `JSON.parse` of it. Integers beyond 2^53 are rounded here; read `payloadText` where they matter. */
  readonly payload: unknown;
  /**
   * The provider's object for a reference asked for by `fetchFirst` or `wait`; `undefined` when not fetched. What a
   * fetch of one's own brought is found under that function.
   */
  fetched(reference: FetchReference, by?: ObjectFetch): FetchedObject | undefined;
}

/**
 * Decides what an event means, inside the transaction it is given. Must be quick (5 s in all), must not call out, and
 * may run again for the same event, alone or beside an attempt that is still alive.
 */
export type Handler = (event: WebhookEvent, tx: Transaction) => Promise<HandlerOutcome> | HandlerOutcome;

/** Handlers by event type. Several for one type run in one transaction, in order; the strongest outcome wins. */
export interface HandlerSet {
  readonly handlers: ReadonlyMap<string, readonly Handler[]>;
}

/**
 * Builds a handler set from `{ 'payment_intent.succeeded': handler }`; a value may be a list of handlers.
 * @throws TypeError for a type that has none: a misspelt import is `undefined`, as is one of a module that is still
 * being loaded, and every event of the type would be ignored for good.
 */
export function defineHandlers(handlers: Readonly<Record<string, Handler | readonly Handler[]>>): HandlerSet {
  // A Map: the types `constructor` and `__proto__` are names like any other, and have no handler.
  const set: HandlerSet = {
    handlers: new Map(
      Object.entries(handlers).map(([type, handler]) => [type, typeof handler === 'function' ? [handler] : handler]),
    ),
  };
  const [problem] = handlerSetProblems(set);
  if (problem !== undefined) throw new TypeError(problem);
  return set;
}

/** What of a handler set cannot be meant, a sentence each; JavaScript lets through what is none. */
export function handlerSetProblems(set: HandlerSet | undefined): readonly string[] {
  const byType: unknown = set?.handlers;
  if (!(byType instanceof Map)) return ['This is not a handler set: build it with defineHandlers()'];
  return [...(byType as ReadonlyMap<unknown, unknown>)].flatMap(([type, list]) => {
    if (Array.isArray(list) && list.length > 0 && Array.from(list).every((one) => typeof one === 'function')) return [];
    return [
      `The handler for "${String(type)}" is not a function, nor a list of functions: is it exported under that name, and is its module loaded before this one?`,
    ];
  });
}

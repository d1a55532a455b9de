import type { ClientBase } from 'pg';
import type { ProcessWebhookEventInput } from '../domain/event.js';
import { CommandError } from '../errors.js';
import { findEvents, readEventDetails, type EventFilter, type EventListing } from './find-events.js';

type Queryable = Pick<ClientBase, 'query'>;

/** What an operator asks of events; the signal carries it, and the run records what came of it. */
export interface EventActionRequest {
  readonly action: 'replay' | 'discard';
  readonly by: string;
  readonly reason: string;
}

export interface SignalDeps {
  readonly db: Queryable;
  readonly signalEvent: (
    event: ProcessWebhookEventInput,
    signal: 'replay' | 'discard',
    input: { readonly by: string; readonly reason: string },
  ) => Promise<void>;
}

/** Sends one event's signal; a closed or forgotten workflow is started by it. */
export async function signalOne(deps: SignalDeps, event: EventListing, request: EventActionRequest): Promise<void> {
  const { scope, eventId, eventType } = event;
  await deps.signalEvent({ scope, eventId, eventType }, request.action, { by: request.by, reason: request.reason });
}

/**
 * The one event that an ID names, in the scope given or in the only scope that has it.
 * @throws CommandError `not_found` when there is none, `usage` when several scopes have it.
 */
export async function resolveEvent(db: Queryable, eventId: string, scope?: string): Promise<EventListing> {
  const found = await findEvents(db, scope === undefined ? { eventId } : { eventId, scope }, MAX_SCOPES_SHOWN);
  const [event] = found;
  if (event === undefined) throw new CommandError('not_found', `No event ${eventId} in the inbox`);
  if (found.length > 1) {
    const scopes = found.map((row) => row.scope).join(', ');
    throw new CommandError('usage', `Several scopes have an event ${eventId}: add --scope with one of ${scopes}`);
  }
  return event;
}

const MAX_SCOPES_SHOWN = 10;

/** The newest recorded action of an event, by its number; what comes later belongs to a later request. */
export async function lastActionId(db: Queryable, event: EventListing): Promise<bigint> {
  const details = await readEventDetails(db, event);
  return details?.actions.map(({ id }) => BigInt(id)).at(-1) ?? 0n;
}

/**
 * Waits until the run has recorded an action after `since`.
 * @returns its result, or null when the time is up first; the request stands either way.
 */
export async function awaitActionResult(
  db: Queryable,
  event: EventListing,
  since: bigint,
  timeoutMs: number,
): Promise<string | null> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const details = await readEventDetails(db, event);
    const later = details?.actions.find(({ id }) => BigInt(id) > since);
    if (later !== undefined) return later.result;
    if (performance.now() >= end) return null;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

const POLL_MS = 200;

/** Signals every event that matches, in order, at most `perSecond`; stops at the first signal that fails. */
export async function signalAll(
  deps: SignalDeps,
  filter: EventFilter,
  request: EventActionRequest,
  options: { readonly limit: number; readonly perSecond: number; readonly onSignalled: (event: EventListing) => void },
): Promise<number> {
  const events = await findEvents(deps.db, filter, options.limit);
  let signalled = 0;
  for (const event of events) {
    if (signalled > 0) await new Promise((resolve) => setTimeout(resolve, 1_000 / options.perSecond));
    await signalOne(deps, event, request);
    signalled += 1;
    options.onSignalled(event);
  }
  return signalled;
}

import type { FetchReference, HandlerOutcome, PlannedOperation } from '../domain/outcome.js';

/** The business change is made in this transaction; `operations` are the external effects that it calls for. */
export function applied(
  details: { readonly operations?: readonly PlannedOperation[]; readonly orderId?: string } = {},
): HandlerOutcome {
  return { kind: 'applied', operations: details.operations ?? [], ...orderOf(details) };
}

/** The same fact was applied before; nothing changes. */
export function duplicate(details: { readonly orderId?: string } = {}): HandlerOutcome {
  return { kind: 'duplicate', ...orderOf(details) };
}

/** A newer fact about the same object stands; nothing changes. */
export function superseded(details: { readonly orderId?: string } = {}): HandlerOutcome {
  return { kind: 'superseded', ...orderOf(details) };
}

/** Not ours, by definition; nothing changes. */
export function ignored(reason?: string): HandlerOutcome {
  return reason === undefined ? { kind: 'ignored' } : { kind: 'ignored', reason };
}

/**
 * Not yet: what this fact stands on is missing. Rolled back and tried again until the horizon; then `fetch`, if given,
 * is looked at once more and the event is quarantined with `reason`.
 */
export function wait(
  reason: string,
  details: { readonly fetch?: FetchReference; readonly orderId?: string } = {},
): HandlerOutcome {
  return { kind: 'wait', reason, ...details };
}

/** Run me again with these provider objects fetched, outside any transaction. */
export function fetchFirst(...references: readonly FetchReference[]): HandlerOutcome {
  return { kind: 'fetchFirst', references };
}

/**
 * Can never be right as it stands: kept for an operator under a reason code. Rolled back unless `keep`, which only a
 * type's single handler may ask for.
 */
export function quarantine(
  reason: string,
  details: { readonly keep?: boolean; readonly orderId?: string } = {},
): HandlerOutcome {
  return { kind: 'quarantine', reason, ...details };
}

function orderOf(details: { readonly orderId?: string }): { readonly orderId?: string } {
  return details.orderId === undefined ? {} : { orderId: details.orderId };
}

import type { InboxOutcome } from './event.js';
import type { OperationStatus } from './operation.js';

/** A provider object to look at before deciding, e.g. `{ type: 'payment_intent', id: 'pi_1' }`. */
export interface FetchReference {
  readonly type: string;
  readonly id: string;
}

/**
 * What a fetch brought: the object, the provider's word that it does not exist, or that none could be asked. `order` is
 * set by oncehook, in decimal digits: of two fetches the one with the greater number began later.
 */
export type FetchedObject =
  | { readonly kind: 'found'; readonly object: unknown; readonly order?: string }
  | { readonly kind: 'missing'; readonly order?: string }
  /** The source has no API key, or its provider has no such type: nobody could be asked. */
  | { readonly kind: 'unavailable'; readonly order?: string };

/** For whom a fetch asks, and how long it may take. */
export interface FetchContext {
  /** Aborted after 5 s; hand it to `fetch` and its like. */
  readonly signal: AbortSignal;
  readonly scope: string;
  readonly tenant: string;
}

/**
 * A fetch of one's own, run outside of any transaction. When its network fails, it does not end when it is told to, or
 * its error's `status` or `statusCode` is 408, 425, 429 or 5xx, it is tried again without bound; another error is a
 * defect.
 */
export type ObjectFetch = (reference: FetchReference, context: FetchContext) => Promise<FetchedObject>;

/** An external effect that a handler decided on. `params` are frozen with the row and checked by the kind's schema. */
export interface PlannedOperation {
  readonly kind: string;
  /** Business name of the effect, from `operationKey(...)`; the same name never makes a second row. */
  readonly key: string;
  readonly params: unknown;
}

/**
 * What a handler may answer; a closed union.
 * - `applied`: the business change is made in this transaction, with the effects that it calls for.
 * - `duplicate`: the same fact was applied before. `superseded`: a newer fact of the same object stands.
 * - `ignored`: not ours, by definition.
 * - `wait`: not yet; what this fact stands on is missing. Rolled back, tried again until the horizon, then `fetch` is
 *   looked at once and the event is quarantined with `reason`.
 * - `fetchFirst`: rolled back; the references are fetched outside the transaction, `by` a fetch of the handler's own or
 *   the source's access to its provider, and the handler runs again.
 * - `quarantine`: can never be right as it stands; rolled back (unless `keep`) and kept for an operator.
 */
export type HandlerOutcome =
  | { readonly kind: 'applied'; readonly operations: readonly PlannedOperation[]; readonly orderId?: string }
  | { readonly kind: 'duplicate'; readonly orderId?: string }
  | { readonly kind: 'superseded'; readonly orderId?: string }
  | { readonly kind: 'ignored'; readonly reason?: string }
  | { readonly kind: 'wait'; readonly reason: string; readonly fetch?: FetchReference; readonly orderId?: string }
  | { readonly kind: 'fetchFirst'; readonly references: readonly FetchReference[]; readonly by?: ObjectFetch }
  | { readonly kind: 'quarantine'; readonly reason: string; readonly keep?: boolean; readonly orderId?: string };

/** An operation as a run sees it: its name and where it stands. */
export interface OperationSummary {
  readonly key: string;
  readonly status: OperationStatus;
}

/** What `applyEvent` tells the workflow; keys, codes and delays only. */
export type ApplyEventResult =
  | {
      readonly kind: 'done';
      readonly outcome: InboxOutcome;
      readonly reason: string | null;
      readonly attempts: number;
      readonly operations: readonly OperationSummary[];
      readonly searchAttributes: boolean;
    }
  | {
      readonly kind: 'wait';
      readonly reason: string;
      readonly attempts: number;
      readonly delayMs: number;
      readonly searchAttributes: boolean;
    }
  | {
      readonly kind: 'quarantined';
      readonly reason: string;
      readonly attempts: number;
      readonly orderId: string | null;
      readonly searchAttributes: boolean;
    }
  /** No such row: the database was restored to a time before the event, or the run was started by hand. */
  | { readonly kind: 'missing' };

/** What `performOperation` tells the workflow. */
export type PerformOperationResult =
  | { readonly kind: 'settled'; readonly status: OperationStatus }
  /** Not settled; run again after `delayMs`. */
  | { readonly kind: 'again'; readonly status: OperationStatus; readonly delayMs: number }
  | { readonly kind: 'missing' };

/** What an operator writes into a signal. Anything may arrive; `replay` acts on any input, `discard` needs both. */
export interface OperatorRequest {
  readonly by: string | null;
  readonly reason: string | null;
  /** One per signal, equal over retries: makes the record of the action unique. */
  readonly requestKey: string;
}

export interface ApplyEventInput {
  readonly scope: string;
  readonly eventId: string;
  /** Handler defects that this run has met since its budget began. */
  readonly defects: number;
  /** Set when an operator asked for this run of the handler. */
  readonly replay: OperatorRequest | null;
}

export interface QuarantineEventInput {
  readonly scope: string;
  readonly eventId: string;
  readonly reason: string;
  /** The operator's request that this attempt carried out, if one did. */
  readonly replay: OperatorRequest | null;
}

export interface DiscardEventInput {
  readonly scope: string;
  readonly eventId: string;
  readonly request: OperatorRequest;
}

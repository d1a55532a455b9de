import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { InboxOutcome, InboxStatus } from '../src/domain/event.js';
import type { OperationSummary } from '../src/domain/outcome.js';

/** Run the event again with a fresh budget; also cuts a wait short. Acts on any input, also on none. */
export const replaySignal = defineSignal<[unknown?]>('replay');

/** End the event as done/discarded. Needs `{ by, reason }`; without them it is recorded as refused. */
export const discardSignal = defineSignal<[unknown?]>('discard');

export const statusQuery = defineQuery<EventStatus>('status');

/** Answer of the query `status`. */
export interface EventStatus {
  readonly status: InboxStatus;
  readonly outcome: InboxOutcome | null;
  readonly reason: string | null;
  readonly attempts: number;
  /** ISO 8601, while the event waits; else null. */
  readonly nextAttemptAt: string | null;
  readonly operations: readonly OperationSummary[];
}

/** The query `status` of an operation's own workflow. */
export const operationStatusQuery = defineQuery<readonly OperationSummary[]>('status');

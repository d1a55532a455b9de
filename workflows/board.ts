import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { InboxStatus, ProcessWebhookEventInput } from '../src/domain/event.js';
import type { ApplyEventResult, OperationSummary } from '../src/domain/outcome.js';
import { fitsSearchAttribute, SEARCH_ATTRIBUTES } from '../src/domain/search-attributes.js';
import type { EventStatus } from './messages.js';

const WEBHOOK_STATUS = defineSearchAttributeKey(SEARCH_ATTRIBUTES.status, SearchAttributeType.KEYWORD);
const ORDER_ID = defineSearchAttributeKey(SEARCH_ATTRIBUTES.orderId, SearchAttributeType.KEYWORD);

/** What people see of a run: the query, the details in the UI, and the search attributes of quarantined events. */
export interface Board {
  readonly status: () => EventStatus;
  readonly show: (result: ApplyEventResult) => void;
  readonly showOperations: (operations: readonly OperationSummary[]) => void;
}

export function createBoard({ scope, eventId, eventType }: ProcessWebhookEventInput): Board {
  let status: EventStatus = {
    status: 'pending',
    outcome: null,
    reason: null,
    attempts: 0,
    nextAttemptAt: null,
    operations: [],
  };
  let listedAsQuarantined = false;

  /** Each upsert is an event and an action, so only quarantine and its end are listed. */
  const list = (now: InboxStatus, result: ApplyEventResult): void => {
    if (result.kind === 'missing' || !result.searchAttributes) return;
    if ((now === 'quarantined') === listedAsQuarantined) return;
    listedAsQuarantined = now === 'quarantined';
    // Handlers' answers are checked where they are given. Were one of them no text, this task would fail for ever.
    const order: unknown = result.kind === 'quarantined' ? result.orderId : null;
    upsertSearchAttributes([
      { key: WEBHOOK_STATUS, value: now },
      ...(typeof order === 'string' && fitsSearchAttribute(order) ? [{ key: ORDER_ID, value: order }] : []),
    ]);
  };

  return {
    status: () => status,
    show: (result) => {
      status = statusAfter(result, status);
      list(status.status, result);
      setCurrentDetails(`**${sentenceFor(result)}**\n\n${eventType} \`${eventId}\` of ${scope}`);
    },
    showOperations: (operations) => {
      status = { ...status, operations };
    },
  };
}

function statusAfter(result: ApplyEventResult, before: EventStatus): EventStatus {
  switch (result.kind) {
    case 'done': {
      const { outcome, reason, attempts, operations } = result;
      return { status: 'done', outcome, reason, attempts, nextAttemptAt: null, operations };
    }
    case 'wait': {
      const { reason, attempts, delayMs } = result;
      // Frozen within a workflow task and replayed alike; shown only, never compared.
      const nextAttemptAt = new Date(Date.now() + delayMs).toISOString();
      return { status: 'pending', outcome: null, reason, attempts, nextAttemptAt, operations: [] };
    }
    case 'quarantined': {
      const { reason, attempts } = result;
      return { status: 'quarantined', outcome: null, reason, attempts, nextAttemptAt: null, operations: [] };
    }
    case 'missing':
      return { ...before, reason: 'missing' };
  }
}

function sentenceFor(result: ApplyEventResult): string {
  switch (result.kind) {
    case 'done':
      return `Done: ${result.outcome}${result.reason === null ? '' : ` (${result.reason})`}`;
    case 'wait':
      return `Waiting: ${result.reason}. A replay signal looks again at once`;
    case 'quarantined':
      return `Quarantined: ${result.reason}. Send the signal replay or discard with {"by": "you", "reason": "why"}`;
    case 'missing':
      return 'The inbox has no such event';
  }
}

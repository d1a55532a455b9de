import type { Pool } from 'pg';
import { inTransaction } from '../src/db/transaction.js';
import type { ApplyEventResult, DiscardEventInput, QuarantineEventInput } from '../src/domain/outcome.js';
import { SHADOW_REASON } from '../src/domain/shadow.js';
import { markDone, markQuarantined } from '../src/inbox/finish-event.js';
import { lockEvent } from '../src/inbox/read-event.js';
import { recordOperatorAction, wasCarriedOut } from '../src/inbox/record-operator-action.js';
import type { Metrics } from '../src/observability/metrics.js';
import type { ApplySource } from './apply-event.js';
import { endInShadow } from './end-in-shadow.js';

export interface QuarantineDeps {
  readonly pool: Pool;
  readonly searchAttributes: () => boolean;
  readonly metrics: Metrics;
  /** Which sources are in shadow mode; without them none is. */
  readonly sources?: ReadonlyMap<string, Pick<ApplySource, 'shadow'>>;
}

/**
 * Takes an event that cannot be applied out of the machine's hands. A row that is done stays done. In shadow mode that
 * is recorded as the decision, and the event ends like every other.
 */
export async function quarantineEvent(deps: QuarantineDeps, input: QuarantineEventInput): Promise<ApplyEventResult> {
  const searchAttributes = deps.searchAttributes();
  return inTransaction(deps.pool, async (tx): Promise<ApplyEventResult> => {
    const row = await lockEvent(tx, input);
    if (row === undefined) return { kind: 'missing' };
    if (input.replay !== null) {
      await recordOperatorAction(tx, input, 'replay', input.replay, `quarantined:${input.reason}`);
    }
    if (row.status === 'done') {
      const { reason, attempts } = row;
      return { kind: 'done', outcome: row.outcome ?? 'ignored', reason, attempts, operations: [], searchAttributes };
    }
    if (deps.sources?.get(row.source)?.shadow === true) {
      const outcome = input.reason === 'handler_error' ? 'defect' : 'quarantine';
      const wouldBe = { outcome, reason: input.reason, handlerRuns: 0 } as const;
      const attempts = await endInShadow(tx, input, row, wouldBe, deps.metrics);
      return { kind: 'done', outcome: 'ignored', reason: SHADOW_REASON, attempts, operations: [], searchAttributes };
    }
    const attempts = await markQuarantined(tx, input, { reason: input.reason, handlerRuns: 0 });
    deps.metrics.quarantines.inc({ source: row.source, reason: input.reason });
    return { kind: 'quarantined', reason: input.reason, attempts, orderId: null, searchAttributes };
  });
}

/** What came of a discard: the event's end, or why it did not come to that. */
export type DiscardResult =
  | Extract<ApplyEventResult, { kind: 'done' | 'missing' }>
  | { readonly kind: 'refused'; readonly code: 'by_and_reason_needed' };

/** Ends an event as done/discarded by an operator's word; without a name and a reason it is recorded as refused. */
export async function discardEvent(deps: QuarantineDeps, input: DiscardEventInput): Promise<DiscardResult> {
  const { request } = input;
  const searchAttributes = deps.searchAttributes();
  return inTransaction(deps.pool, async (tx): Promise<DiscardResult> => {
    const row = await lockEvent(tx, input);
    if (row === undefined) return { kind: 'missing' };
    const repeated = await wasCarriedOut(tx, request.requestKey);
    if (row.status === 'done') {
      if (!repeated) await recordOperatorAction(tx, input, 'discard', request, 'refused:already_done');
      const { reason, attempts } = row;
      return { kind: 'done', outcome: row.outcome ?? 'ignored', reason, attempts, operations: [], searchAttributes };
    }
    if (request.by === null || request.reason === null) {
      await recordOperatorAction(tx, input, 'discard', request, 'refused:by_and_reason_needed');
      return { kind: 'refused', code: 'by_and_reason_needed' };
    }
    const attempts = await markDone(tx, input, { outcome: 'discarded', reason: row.reason, handlerRuns: 0 });
    await recordOperatorAction(tx, input, 'discard', request, 'discarded');
    return { kind: 'done', outcome: 'discarded', reason: row.reason, attempts, operations: [], searchAttributes };
  });
}

import type { PoolClient } from 'pg';
import type { EventKey } from '../src/domain/event.js';
import { SHADOW_REASON, type ShadowOperation, type ShadowOutcome } from '../src/domain/shadow.js';
import { markDone } from '../src/inbox/finish-event.js';
import type { InboxRow } from '../src/inbox/read-event.js';
import { recordShadowDecision } from '../src/inbox/record-shadow-decision.js';
import type { Metrics } from '../src/observability/metrics.js';

/** What would have become of an event. */
export interface WouldBe {
  readonly outcome: ShadowOutcome;
  readonly reason: string | null;
  readonly handlerRuns: 0 | 1;
  readonly orderId?: string | undefined;
  readonly operations?: readonly ShadowOperation[];
}

/** Records the decision and ends the event as done/ignored, reason `shadow`. Returns the handler runs so far. */
export async function endInShadow(
  tx: PoolClient,
  key: EventKey,
  row: Pick<InboxRow, 'source' | 'attempts'>,
  { outcome, reason, handlerRuns, orderId, operations }: WouldBe,
  metrics: Metrics,
): Promise<number> {
  await recordShadowDecision(tx, key, {
    source: row.source,
    outcome,
    reason,
    orderId: orderId ?? null,
    operations: operations ?? [],
    attempts: row.attempts + handlerRuns,
  });
  metrics.shadowDecisions.inc({ source: row.source, outcome });
  return markDone(tx, key, { outcome: 'ignored', reason: SHADOW_REASON, handlerRuns });
}

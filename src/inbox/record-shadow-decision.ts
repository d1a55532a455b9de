import type { ClientBase } from 'pg';
import type { EventKey } from '../domain/event.js';
import type { ShadowOperation, ShadowOutcome } from '../domain/shadow.js';

export interface ShadowDecision {
  readonly source: string;
  readonly outcome: ShadowOutcome;
  readonly reason: string | null;
  readonly orderId: string | null;
  readonly operations: readonly ShadowOperation[];
  /** Handler runs that it took. */
  readonly attempts: number;
}

/**
 * Keeps what would have been done, in the transaction that ends the event. A defect's text is taken from the inbox row,
 * whose end clears it. An event whose inbox row has expired and that came again replaces what was decided then.
 */
export async function recordShadowDecision(
  tx: Pick<ClientBase, 'query'>,
  key: EventKey,
  decision: ShadowDecision,
): Promise<void> {
  await tx.query(
    `insert into oncehook.shadow_decisions
            (source_scope, event_id, source, outcome, reason, order_id, operations, attempts, defect)
     select i.source_scope, i.event_id, $3, $4, $5, $6, $7, $8, case $4 when 'defect' then i.last_error end
       from oncehook.webhook_inbox i
      where i.source_scope = $1
        and i.event_id = $2
         on conflict (source_scope, event_id) do update
        set source = excluded.source,
            decided_at = excluded.decided_at,
            outcome = excluded.outcome,
            reason = excluded.reason,
            order_id = excluded.order_id,
            operations = excluded.operations,
            attempts = excluded.attempts,
            defect = excluded.defect`,
    [
      key.scope,
      key.eventId,
      decision.source,
      decision.outcome,
      decision.reason,
      decision.orderId,
      JSON.stringify(decision.operations),
      decision.attempts,
    ],
  );
}

import type { ClientBase } from 'pg';
import type { InboxOutcome, InboxStatus } from '../domain/event.js';
import type { OperationStatus } from '../domain/operation.js';
import type { ShadowOperation, ShadowOutcome } from '../domain/shadow.js';

type Queryable = Pick<ClientBase, 'query'>;

/** Which events a command is about; what is left out does not restrict. */
export interface EventFilter {
  readonly status?: InboxStatus;
  /** Reason code of the row. */
  readonly reason?: string;
  readonly type?: string;
  readonly scope?: string;
  readonly eventId?: string;
  /** Received at least this long ago, in milliseconds, by the database's clock. */
  readonly olderThanMs?: number;
}

export interface EventListing {
  readonly scope: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly source: string;
  readonly status: InboxStatus;
  readonly outcome: InboxOutcome | null;
  readonly reason: string | null;
  readonly attempts: number;
  readonly receivedAt: Date;
  readonly completedAt: Date | null;
}

/** Events that match, oldest first, at most `limit`; one more than wanted tells the caller that there are more. */
export async function findEvents(db: Queryable, filter: EventFilter, limit: number): Promise<readonly EventListing[]> {
  const { rows } = await db.query<EventListing>(
    `select source_scope as scope,
            event_id as "eventId",
            event_type as "eventType",
            source,
            status,
            outcome,
            reason,
            attempts,
            received_at as "receivedAt",
            completed_at as "completedAt"
       from oncehook.webhook_inbox
      where ($1::text is null or status = $1)
        and ($2::text is null or reason = $2)
        and ($3::text is null or event_type = $3)
        and ($4::text is null or source_scope = $4)
        and ($5::text is null or event_id = $5)
        and ($6::float8 is null or received_at <= now() - $6 * interval '1 millisecond')
      order by received_at, source_scope, event_id
      limit $7`,
    [
      filter.status ?? null,
      filter.reason ?? null,
      filter.type ?? null,
      filter.scope ?? null,
      filter.eventId ?? null,
      filter.olderThanMs ?? null,
      limit,
    ],
  );
  return rows;
}

/** All that is known of one event, without its payload. */
export interface EventDetails extends EventListing {
  readonly requestId: string;
  readonly dispatchedAt: Date | null;
  readonly nextAttemptAt: Date;
  readonly lastError: string | null;
  readonly redeliveries: number;
  readonly operations: readonly EventOperation[];
  readonly actions: readonly EventAction[];
  /** What shadow mode decided; `null` for an event that it did not decide on. */
  readonly shadow: EventShadowDecision | null;
}

export interface EventShadowDecision {
  readonly decidedAt: string;
  readonly outcome: ShadowOutcome;
  readonly reason: string | null;
  readonly order: string | null;
  readonly operations: readonly ShadowOperation[];
  readonly attempts: number;
  readonly defect: string | null;
}

export interface EventOperation {
  readonly operationKey: string;
  readonly status: OperationStatus;
  readonly attempts: number;
  readonly lastError: string | null;
}

export interface EventAction {
  readonly id: string;
  readonly action: string;
  readonly requestedBy: string | null;
  readonly reason: string | null;
  readonly requestedAt: string;
  readonly result: string;
}

export async function readEventDetails(
  db: Queryable,
  key: { readonly scope: string; readonly eventId: string },
): Promise<EventDetails | undefined> {
  const { rows } = await db.query<EventDetails>(
    `select i.source_scope as scope,
            i.event_id as "eventId",
            i.event_type as "eventType",
            i.source,
            i.status,
            i.outcome,
            i.reason,
            i.attempts,
            i.received_at as "receivedAt",
            i.completed_at as "completedAt",
            i.request_id as "requestId",
            i.dispatched_at as "dispatchedAt",
            i.next_attempt_at as "nextAttemptAt",
            i.last_error as "lastError",
            (select count(*)::integer
               from oncehook.webhook_redeliveries r
              where r.source_scope = i.source_scope
                and r.event_id = i.event_id) as redeliveries,
            (select coalesce(json_agg(json_build_object(
                      'operationKey', o.operation_key, 'status', o.status,
                      'attempts', o.attempts, 'lastError', o.last_error) order by o.operation_key), '[]')
               from oncehook.operations o
              where o.source_scope = i.source_scope
                and o.event_id = i.event_id) as operations,
            (select coalesce(json_agg(json_build_object(
                      'id', a.id::text, 'action', a.action, 'requestedBy', a.requested_by, 'reason', a.reason,
                      'requestedAt', a.requested_at, 'result', a.result) order by a.id), '[]')
               from oncehook.operator_actions a
              where a.source_scope = i.source_scope
                and a.event_id = i.event_id) as actions,
            (select json_build_object(
                      'decidedAt', d.decided_at, 'outcome', d.outcome, 'reason', d.reason, 'order', d.order_id,
                      'operations', d.operations, 'attempts', d.attempts, 'defect', d.defect)
               from oncehook.shadow_decisions d
              where d.source_scope = i.source_scope
                and d.event_id = i.event_id) as shadow
       from oncehook.webhook_inbox i
      where i.source_scope = $1
        and i.event_id = $2`,
    [key.scope, key.eventId],
  );
  return rows[0];
}

import type { ClientBase } from 'pg';
import type { ProcessWebhookEventInput } from '../domain/event.js';
import { pausedSql } from './pauses.js';

/** A due operation and the workflow that carries it: its event's, or its own when `event` is null. */
export interface DueOperation {
  readonly operationKey: string;
  readonly event: ProcessWebhookEventInput | null;
}

interface DueRow {
  readonly operation_key: string;
  readonly source_scope: string | null;
  readonly event_id: string | null;
  readonly event_type: string | null;
}

/**
 * Claims at most `limit` operations whose time has come, oldest first, for the next 60 s; several sweepers at once get
 * different ones. Paused kinds are left alone. An operation whose event is no longer kept goes on by itself.
 */
export async function claimDueOperations(
  db: Pick<ClientBase, 'query'>,
  limit: number,
): Promise<readonly DueOperation[]> {
  const { rows } = await db.query<DueRow>(
    `with due as (
       select operation_key
         from oncehook.operations candidate
        where status in ('planned', 'sending', 'unknown')
          and next_attempt_at <= now()
          and not ${pausedSql('candidate')}
        order by next_attempt_at, operation_key
        limit $1
          for update skip locked
     ), claimed as (
       update oncehook.operations operation
          set next_attempt_at = now() + interval '60 seconds'
         from due
        where operation.operation_key = due.operation_key
       returning operation.operation_key, operation.source_scope, operation.event_id
     )
     select claimed.operation_key, claimed.source_scope, claimed.event_id, inbox.event_type
       from claimed
       left join oncehook.webhook_inbox inbox
         on inbox.source_scope = claimed.source_scope
        and inbox.event_id = claimed.event_id
      order by claimed.operation_key collate "C"`,
    [limit],
  );
  return rows.map((row) => ({ operationKey: row.operation_key, event: eventOf(row) }));
}

function eventOf(row: DueRow): ProcessWebhookEventInput | null {
  const { source_scope: scope, event_id: eventId, event_type: eventType } = row;
  return scope === null || eventId === null || eventType === null ? null : { scope, eventId, eventType };
}

/** Puts claimed operations back as due at once, since nobody could be asked to start them. */
export async function returnOperations(db: Pick<ClientBase, 'query'>, operationKeys: readonly string[]): Promise<void> {
  await db.query(
    `update oncehook.operations
        set next_attempt_at = now()
      where operation_key = any($1::text[])
        and status in ('planned', 'sending', 'unknown')`,
    [operationKeys],
  );
}

import type { ClientBase } from 'pg';
import type { EventKey, InboxOutcome, InboxStatus } from '../domain/event.js';
import type { ShadowOutcome } from '../domain/shadow.js';

/** An inbox row as its run reads it. */
export interface InboxRow {
  readonly source: string;
  readonly eventType: string;
  readonly status: InboxStatus;
  readonly outcome: InboxOutcome | null;
  readonly reason: string | null;
  readonly receivedAt: Date;
  readonly providerCreatedAt: Date | null;
  readonly twinEventId: string | null;
  readonly attempts: number;
  /** Milliseconds since the current wait began, by the database's clock; 0 when the event has not waited. */
  readonly waitedMs: number;
  /** `null` once the payload has expired. */
  readonly payloadText: string | null;
}

/**
 * Locks an event's row and reads it with its payload. Every change to the row's status holds this lock, so whoever
 * has it decides alone.
 * @returns undefined when there is no such row.
 */
export async function lockEvent(tx: Pick<ClientBase, 'query'>, key: EventKey): Promise<InboxRow | undefined> {
  const { rows } = await tx.query<InboxRow>(
    `select i.source,
            i.event_type as "eventType",
            i.status,
            i.outcome,
            i.reason,
            i.received_at as "receivedAt",
            i.provider_created_at as "providerCreatedAt",
            i.twin_event_id as "twinEventId",
            i.attempts,
            coalesce(extract(epoch from clock_timestamp() - i.waiting_since) * 1000, 0)::float8 as "waitedMs",
            (select p.payload::text
               from oncehook.webhook_payloads p
              where p.source_scope = i.source_scope
                and p.event_id = i.event_id) as "payloadText"
       from oncehook.webhook_inbox i
      where i.source_scope = $1
        and i.event_id = $2
        for update of i`,
    [key.scope, key.eventId],
  );
  return rows[0];
}

/**
 * Whether the event that tells the same change has been worked on, whichever of the two names the other. The one that
 * names locks its twin after itself, the named one locks nothing more, so two runs at once take turns and never wait in
 * a circle.
 * @param mode in shadow mode what was decided there counts too.
 */
export async function isToldByTwin(
  tx: Pick<ClientBase, 'query'>,
  key: EventKey,
  twinEventId: string | null,
  mode: 'live' | 'shadow' = 'live',
): Promise<boolean> {
  const { rows } =
    twinEventId === null
      ? await tx.query<TwinRow>(NAMED_BY, [key.scope, key.eventId])
      : await tx.query<TwinRow>(NAMED, [key.scope, twinEventId]);
  return rows.some(({ outcome, decided }) => {
    const said = mode === 'shadow' ? (decided ?? outcome) : outcome;
    return said === 'applied' || said === 'duplicate' || said === 'superseded';
  });
}

interface TwinRow {
  readonly outcome: InboxOutcome | null;
  /** What shadow mode decided on it, if it did. */
  readonly decided: ShadowOutcome | null;
}

const NAMED = `
  select i.outcome,
         d.outcome as decided
    from oncehook.webhook_inbox i
    left join oncehook.shadow_decisions d using (source_scope, event_id)
   where i.source_scope = $1
     and i.event_id = $2
     for update of i`;

const NAMED_BY = `
  select i.outcome,
         d.outcome as decided
    from oncehook.webhook_inbox i
    left join oncehook.shadow_decisions d using (source_scope, event_id)
   where i.source_scope = $1
     and i.twin_event_id = $2`;

import type { ClientBase } from 'pg';
import type { EventKey, InboxOutcome, InboxStatus } from '../domain/event.js';

/** A verified event as the receiver stores it. */
export interface NewEvent extends EventKey {
  readonly source: string;
  readonly eventType: string;
  readonly status: InboxStatus;
  /** Set exactly when `status` is `done`. */
  readonly outcome: InboxOutcome | null;
  /** Always set when `status` is `quarantined`. */
  readonly reason: string | null;
  readonly requestId: string;
  /** ISO 8601 in UTC. */
  readonly providerCreatedAt: string | null;
  /** Of the raw body, 32 bytes. */
  readonly signedSha256: Buffer;
  readonly secretPosition: number;
  /** The verified text, to the character. */
  readonly payloadText: string;
}

export type InsertedOrDuplicate = 'inserted' | 'duplicate';

/** Names an event's key as one text; neither half contains a line break. */
export function keyText(key: EventKey): string {
  return `${key.scope}\n${key.eventId}`;
}

/**
 * Stores what is new of a batch, in one statement and so in one commit; the result has one entry per event given, in
 * the same order. Of several with one key the first is stored and the others are duplicates. A duplicate leaves a row
 * in webhook_redeliveries and touches nothing else.
 */
export async function insertEvents(
  client: Pick<ClientBase, 'query'>,
  events: readonly NewEvent[],
): Promise<readonly InsertedOrDuplicate[]> {
  const firsts = new Map<string, NewEvent>();
  for (const event of events) if (!firsts.has(keyText(event))) firsts.set(keyText(event), event);
  const rows = [...firsts.values()];
  const repeats = events.filter((event) => firsts.get(keyText(event)) !== event);

  const { rows: inserted } = await client.query<EventKey>(INSERT_EVENTS, [
    rows.map((row) => row.scope),
    rows.map((row) => row.eventId),
    rows.map((row) => row.source),
    rows.map((row) => row.eventType),
    rows.map((row) => row.status),
    rows.map((row) => row.outcome),
    rows.map((row) => row.reason),
    rows.map((row) => row.requestId),
    rows.map((row) => row.providerCreatedAt),
    rows.map((row) => row.signedSha256),
    rows.map((row) => row.secretPosition),
    rows.map((row) => row.payloadText),
    repeats.map((row) => row.scope),
    repeats.map((row) => row.eventId),
    repeats.map((row) => row.requestId),
  ]);
  const insertedKeys = new Set(inserted.map(keyText));
  return events.map((event) => {
    const key = keyText(event);
    return firsts.get(key) === event && insertedKeys.has(key) ? 'inserted' : 'duplicate';
  });
}

// `not exists` is what keeps a duplicate from waiting: `on conflict do nothing` alone waits for any transaction that
// has updated the row. Its `offset 0` keeps it a look into the index per row: as a join the planner would read a table
// of up to some ten thousand rows whole. `on conflict` is for the row that another batch commits meanwhile. The order
// must be the statement's own, or two batches with the same keys in different order would wait for each other; payloads
// follow it, since they join what was inserted.
const INSERT_EVENTS = `
  with incoming as (
    select source_scope, event_id, source, event_type, status, outcome, reason, request_id,
           provider_created_at, signed_sha256, secret_position, payload
      from unnest(
             $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
             $9::timestamptz[], $10::bytea[], $11::smallint[], $12::text[]
           ) as given (
             source_scope, event_id, source, event_type, status, outcome, reason, request_id,
             provider_created_at, signed_sha256, secret_position, payload
           )
  ), inserted as (
    insert into oncehook.webhook_inbox (
           source_scope, event_id, source, event_type, status, outcome, reason, request_id,
           provider_created_at, signed_sha256, secret_position, completed_at)
    select source_scope, event_id, source, event_type, status, outcome, reason, request_id,
           provider_created_at, signed_sha256, secret_position, case when status = 'done' then now() end
      from incoming
     where not exists (
             select from oncehook.webhook_inbox stored
              where stored.source_scope = incoming.source_scope
                and stored.event_id = incoming.event_id
             offset 0)
     order by source_scope, event_id
        on conflict (source_scope, event_id) do nothing
    returning source_scope, event_id
  ), with_payload as (
    insert into oncehook.webhook_payloads (source_scope, event_id, payload)
    select source_scope, event_id, payload::json
      from incoming
      join inserted using (source_scope, event_id)
  ), redelivered as (
    insert into oncehook.webhook_redeliveries (source_scope, event_id, request_id)
    select source_scope, event_id, request_id
      from incoming
     where not exists (
             select from inserted
              where inserted.source_scope = incoming.source_scope
                and inserted.event_id = incoming.event_id)
     union all
    select source_scope, event_id, request_id
      from unnest($13::text[], $14::text[], $15::text[]) as repeated (source_scope, event_id, request_id)
  )
  select source_scope as scope, event_id as "eventId"
    from inserted`;

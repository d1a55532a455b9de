import type { ClientBase } from 'pg';
import type { EventKey } from '../domain/event.js';
import { judgeByBytes } from './keep-aside.js';
import { keyText, type NewEvent, type StoredResult } from './new-event.js';

/**
 * Stores what is new of a batch, in one statement and so in one commit; the result has one entry per event given, in
 * the same order. Of several with one key the first is stored and the others are duplicates. A duplicate leaves a row
 * in webhook_redeliveries and touches nothing else. What has an unsigned or derived ID and was not stored is judged by
 * its bytes in a second step, with a commit of its own.
 */
export async function insertEvents(
  client: Pick<ClientBase, 'query'>,
  events: readonly NewEvent[],
): Promise<readonly StoredResult[]> {
  const firsts = new Map<string, NewEvent>();
  for (const event of events) if (!firsts.has(keyText(event))) firsts.set(keyText(event), event);
  const rows = [...firsts.values()];
  const repeats = events.filter((event) => firsts.get(keyText(event)) !== event && event.identity === 'signed');

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
    rows.map((row) => row.twinEventId),
    rows.map((row) => row.signedSha256),
    rows.map((row) => row.identity === 'unsigned'),
    rows.map((row) => row.identity === 'signed'),
    rows.map((row) => row.secretPosition),
    rows.map((row) => row.payloadText),
    repeats.map((row) => row.scope),
    repeats.map((row) => row.eventId),
    repeats.map((row) => row.requestId),
  ]);
  const insertedKeys = new Set(inserted.map(keyText));
  const isInserted = (event: NewEvent): boolean =>
    firsts.get(keyText(event)) === event && insertedKeys.has(keyText(event));
  const inDoubt = events.filter((event) => event.identity !== 'signed' && !isInserted(event));
  const judged = inDoubt.length === 0 ? new Map<NewEvent, StoredResult>() : await judgeByBytes(client, inDoubt);
  return events.map((event) => (isInserted(event) ? 'inserted' : (judged.get(event) ?? 'duplicate')));
}

// `not exists` is what keeps a duplicate from waiting: `on conflict do nothing` alone waits for any transaction that
// has updated the row. Its `offset 0` keeps it a look into the index per row: as a join the planner would read a table
// of up to some ten thousand rows whole. The second one lets one copy of some bytes in where the ID is not signed.
// `on conflict`, for either index, is for the row that another batch commits meanwhile. The order
// must be the statement's own, or two batches with the same keys in different order would wait for each other; payloads
// follow it, since they join what was inserted.
const INSERT_EVENTS = `
  with incoming as (
    select source_scope, event_id, source, event_type, status, outcome, reason, request_id,
           provider_created_at, twin_event_id, signed_sha256, first_copy, is_signed, secret_position, payload
      from unnest(
             $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
             $9::timestamptz[], $10::text[], $11::bytea[], $12::boolean[], $13::boolean[], $14::smallint[], $15::text[]
           ) as given (
             source_scope, event_id, source, event_type, status, outcome, reason, request_id,
             provider_created_at, twin_event_id, signed_sha256, first_copy, is_signed, secret_position, payload
           )
  ), inserted as (
    insert into oncehook.webhook_inbox (
           source_scope, event_id, source, event_type, status, outcome, reason, request_id,
           provider_created_at, twin_event_id, signed_sha256, first_copy, secret_position, completed_at)
    select source_scope, event_id, source, event_type, status, outcome, reason, request_id,
           provider_created_at, twin_event_id, signed_sha256, first_copy, secret_position,
           case when status = 'done' then now() end
      from incoming
     where not exists (
             select from oncehook.webhook_inbox stored
              where stored.source_scope = incoming.source_scope
                and stored.event_id = incoming.event_id
             offset 0)
       and (not first_copy
            or not exists (
                 select from oncehook.webhook_inbox live
                  where live.source_scope = incoming.source_scope
                    and live.signed_sha256 = incoming.signed_sha256
                    and live.first_copy
                 offset 0))
     order by source_scope, event_id
        on conflict do nothing
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
     where is_signed
       and not exists (
             select from inserted
              where inserted.source_scope = incoming.source_scope
                and inserted.event_id = incoming.event_id)
     union all
    select source_scope, event_id, request_id
      from unnest($16::text[], $17::text[], $18::text[]) as repeated (source_scope, event_id, request_id)
  )
  select source_scope as scope, event_id as "eventId"
    from inserted`;

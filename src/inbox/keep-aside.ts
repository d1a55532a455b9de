import type { ClientBase } from 'pg';
import type { NewEvent, StoredResult } from './new-event.js';

/** Copies of some bytes that are kept aside; who sends them more often tells nothing new. */
const MAX_KEPT_COPIES = 10;

/** Where an event is kept whose own ID is taken or not to be trusted: the ID, and what it came with. */
export function asideId(event: Pick<NewEvent, 'eventId' | 'signedSha256'>): string {
  return `${event.eventId}~${event.signedSha256.subarray(0, 16).toString('hex')}`;
}

type Judged = 'duplicate' | 'suspected_replay' | 'id_conflict' | 'duplicate_of_other_bytes';

/**
 * Judges events that were not stored under their own ID, which no signature covers. The same ID with the same bytes,
 * or bytes that are kept often enough, are duplicates. Anything else may be a forgery or the genuine delivery behind
 * one, so it is kept under `asideId`, quarantined: as `suspected_replay` if the bytes are live under another ID, else as
 * `id_conflict`. For a derived ID, whose bytes are signed, nothing is kept; only the difference is told.
 */
export async function judgeByBytes(
  client: Pick<ClientBase, 'query'>,
  events: readonly NewEvent[],
): Promise<ReadonlyMap<NewEvent, StoredResult>> {
  await client.query('begin');
  try {
    // The next statement sees what others have committed before it began: one at a time per bytes, in one order.
    await client.query(LOCK_BYTES, [
      events.map(({ scope, signedSha256 }) => `${scope} ${signedSha256.toString('hex')}`),
    ]);
    const { rows } = await client.query<{ position: number; result: Judged }>(JUDGE, [
      events.map((event) => event.scope),
      events.map((event) => event.eventId),
      events.map(asideId),
      events.map((event) => event.identity),
      events.map((event) => event.source),
      events.map((event) => event.eventType),
      events.map((event) => event.requestId),
      events.map((event) => event.providerCreatedAt),
      events.map((event) => event.signedSha256),
      events.map((event) => event.secretPosition),
      events.map((event) => event.payloadText),
      MAX_KEPT_COPIES,
    ]);
    await client.query('commit');
    return new Map(
      rows.flatMap(({ position, result }) => {
        const event = events[position - 1];
        return event === undefined ? [] : [[event, result] as const];
      }),
    );
  } catch (error) {
    // On a lost connection this fails too, and the first error says more.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

const LOCK_BYTES = `
  select pg_advisory_xact_lock(key)
    from (select distinct hashtextextended('oncehook.bytes ' || bytes, 0) as key
            from unnest($1::text[]) as given (bytes)
           order by key) as keys`;

const JUDGE = `
  with incoming as (
    select given.*,
           row_number() over (partition by source_scope, aside_id order by position) as copy
      from unnest(
             $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
             $9::bytea[], $10::smallint[], $11::text[]
           ) with ordinality as given (
             source_scope, event_id, aside_id, identity, source, event_type, request_id, provider_created_at,
             signed_sha256, secret_position, payload, position
           )
  ), looked_up as (
    select incoming.*,
           exists (
             select from oncehook.webhook_inbox same
              where same.source_scope = incoming.source_scope
                and same.event_id = incoming.event_id
                and same.signed_sha256 = incoming.signed_sha256) as is_same,
           exists (
             select from oncehook.webhook_inbox kept
              where kept.source_scope = incoming.source_scope
                and kept.event_id = incoming.aside_id) as is_kept,
           exists (
             select from oncehook.webhook_inbox live
              where live.source_scope = incoming.source_scope
                and live.signed_sha256 = incoming.signed_sha256
                and live.first_copy) as is_live,
           (select count(*)
              from (select from oncehook.webhook_inbox kept
                     where kept.source_scope = incoming.source_scope
                       and kept.signed_sha256 = incoming.signed_sha256
                       and right(kept.event_id, 33) = '~' || left(encode(kept.signed_sha256, 'hex'), 32)
                     limit $12) as kept_copies) as copies
      from incoming
  ), judged as (
    select looked_up.*,
           case
             when identity = 'derived' then case when is_same then 'duplicate' else 'duplicate_of_other_bytes' end
             when is_same or is_kept or copy > 1 then 'duplicate'
             when copies + row_number() over (
                    partition by source_scope, signed_sha256, is_same or is_kept or copy > 1 order by position) > $12
               then 'duplicate'
             when is_live and identity = 'unsigned' then 'suspected_replay'
             else 'id_conflict'
           end as result
      from looked_up
  ), kept as (
    insert into oncehook.webhook_inbox (
           source_scope, event_id, source, event_type, status, reason, request_id,
           provider_created_at, signed_sha256, secret_position)
    select source_scope, aside_id, source, event_type, 'quarantined', result, request_id,
           provider_created_at, signed_sha256, secret_position
      from judged
     where result in ('suspected_replay', 'id_conflict')
     order by source_scope, aside_id
    returning source_scope, event_id
  ), with_payload as (
    insert into oncehook.webhook_payloads (source_scope, event_id, payload)
    select judged.source_scope, aside_id, payload::json
      from judged
      join kept on kept.source_scope = judged.source_scope and kept.event_id = judged.aside_id
     where result in ('suspected_replay', 'id_conflict')
  ), redelivered as (
    insert into oncehook.webhook_redeliveries (source_scope, event_id, request_id)
    select source_scope, case when is_kept or copy > 1 then aside_id else event_id end, request_id
      from judged
     where result in ('duplicate', 'duplicate_of_other_bytes')
  )
  select position::integer as position, result
    from judged`;

import { createHash } from 'node:crypto';
import type { TestDatabase } from './database.js';

/** Puts a verified event into the inbox as a receiver would have, started by nobody. */
export async function storeVerified(
  { pool }: TestDatabase,
  scope: string,
  event: { readonly id: string; readonly type: string; readonly snapshot_event?: string },
  text = JSON.stringify(event),
): Promise<void> {
  await pool.query(
    `with row as (
       insert into oncehook.webhook_inbox
              (source_scope, event_id, source, event_type, request_id, signed_sha256, secret_position, twin_event_id)
       values ($1, $2, 'stripe', $3, 'test', $4, 0, $6)
           on conflict do nothing)
     insert into oncehook.webhook_payloads (source_scope, event_id, payload) values ($1, $2, $5)
         on conflict do nothing`,
    [scope, event.id, event.type, createHash('sha256').update(text).digest(), text, event.snapshot_event ?? null],
  );
}

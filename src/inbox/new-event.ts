import type { EventIdentity, EventKey, InboxOutcome, InboxStatus } from '../domain/event.js';

/** A verified event as the receiver stores it. */
export interface NewEvent extends EventKey {
  readonly source: string;
  readonly eventType: string;
  /** How far the ID can be trusted; decides what a second delivery of it, or of its bytes, is. */
  readonly identity: EventIdentity;
  readonly status: InboxStatus;
  /** Set exactly when `status` is `done`. */
  readonly outcome: InboxOutcome | null;
  /** Always set when `status` is `quarantined`. */
  readonly reason: string | null;
  readonly requestId: string;
  /** ISO 8601 in UTC. */
  readonly providerCreatedAt: string | null;
  readonly twinEventId: string | null;
  /** Of the raw body, 32 bytes. */
  readonly signedSha256: Buffer;
  readonly secretPosition: number;
  /** The verified text, to the character. */
  readonly payloadText: string;
}

/**
 * What became of one event.
 * - `inserted`: this call stored it under its own ID. `duplicate`: it, or for an unsigned ID its bytes, was stored before.
 * - `suspected_replay`, `id_conflict`: stored aside by this call (`asideId`), quarantined; see `keep-aside.ts`.
 * - `duplicate_of_other_bytes`: a derived ID met again with another body; nothing was stored.
 */
export type StoredResult = 'inserted' | 'duplicate' | 'suspected_replay' | 'id_conflict' | 'duplicate_of_other_bytes';

/** Names an event's key as one text; neither half contains a line break. */
export function keyText(key: EventKey): string {
  return `${key.scope}\n${key.eventId}`;
}

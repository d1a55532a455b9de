/** An accepted event's identity: the inbox primary key. Neither half alone is unique. */
export interface EventKey {
  /** For Stripe `stripe:{account}:{live|test}`, for other kinds `{kind}:{account}`. */
  readonly scope: string;
  /** The sender's event ID, 1 to 255 printable ASCII characters. */
  readonly eventId: string;
}

/** Input of the workflow `processWebhookEvent`: keys only, so that histories carry no payload. */
export interface ProcessWebhookEventInput extends EventKey {
  readonly eventType: string;
}

export const INBOX_STATUSES = ['pending', 'done', 'quarantined'] as const;
export type InboxStatus = (typeof INBOX_STATUSES)[number];

export const INBOX_OUTCOMES = ['applied', 'duplicate', 'superseded', 'ignored', 'discarded'] as const;
export type InboxOutcome = (typeof INBOX_OUTCOMES)[number];

/** Hex SHA-256 of a text's UTF-8 bytes. Given by the caller: this folder is pure and the sandbox has no crypto. */
export type Sha256Hex = (text: string) => string;

const MAX_ID_BYTES = 200;
const KEPT_PREFIX_BYTES = 120;

/**
 * Workflow ID of an event: `webhook:{scope}:{event id}`. Everything outside a safe alphabet becomes `~` and two hex
 * digits, per byte; the event ID's alphabet lacks the colon, so two different keys never meet in one ID. An ID over
 * 200 bytes keeps its first 120 and ends in `~~` and the SHA-256 of the whole.
 */
export function workflowIdForEvent(key: EventKey, sha256Hex: Sha256Hex): string {
  const id = `webhook:${escapeBytes(key.scope, /[A-Za-z0-9_.:-]/)}:${escapeBytes(key.eventId, /[A-Za-z0-9_.-]/)}`;
  return id.length <= MAX_ID_BYTES ? id : `${id.slice(0, KEPT_PREFIX_BYTES)}~~${sha256Hex(id)}`;
}

/** Escaped text is pure ASCII, so its length in characters is its length in bytes. */
export function escapeBytes(text: string, safe: RegExp): string {
  let escaped = '';
  for (const byte of new TextEncoder().encode(text)) {
    const character = String.fromCharCode(byte);
    escaped += byte < 0x80 && safe.test(character) ? character : `~${byte.toString(16).padStart(2, '0')}`;
  }
  return escaped;
}

/** Temporal's limit for a fairness key is 64 bytes; a longer scope is replaced by its SHA-256 (64 hex digits). */
export function fairnessKeyForScope(scope: string, sha256Hex: Sha256Hex): string {
  return new TextEncoder().encode(scope).length <= 64 ? scope : sha256Hex(scope);
}

/**
 * How far an event's ID can be trusted.
 * - `signed`: the signature covers it.
 * - `unsigned`: anybody who has seen a delivery can send it again under another ID, so the same bytes count once.
 * - `unsigned_repeatable`: the same, and this sender's bytes may repeat by themselves.
 * - `derived`: a hash of fields of the signed body, which may turn out not to tell two events apart.
 */
export type EventIdentity = 'signed' | 'unsigned' | 'unsigned_repeatable' | 'derived';

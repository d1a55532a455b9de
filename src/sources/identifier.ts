/** 1 to 255 printable ASCII characters without the space: no invisible, look-alike or control character fits in. */
const IDENTIFIER = /^[\x21-\x7e]{1,255}$/;

/** Whether a value may be stored as an event ID, event type or account, logged, and built into keys. */
export function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && IDENTIFIER.test(value);
}

/** How the IDs end under which copies and conflicts are kept aside. */
const KEPT_ASIDE = /~[0-9a-f]{32}$/;

/**
 * Whether a value may be an event's ID although no signature covers it. Whoever has seen some deliveries could else
 * take the very ID under which a later one would be kept, which then would pass for a duplicate.
 */
export function isUnsignedIdentifier(value: unknown): value is string {
  return isIdentifier(value) && !KEPT_ASIDE.test(value);
}

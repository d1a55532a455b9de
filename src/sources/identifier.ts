/** 1 to 255 printable ASCII characters without the space: no invisible, look-alike or control character fits in. */
const IDENTIFIER = /^[\x21-\x7e]{1,255}$/;

/** Whether a value may be stored as an event ID, event type or account, logged, and built into keys. */
export function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && IDENTIFIER.test(value);
}

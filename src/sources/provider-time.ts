/** The years 1 to 9999: what both JavaScript and PostgreSQL write and read alike, and wide enough for any provider. */
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z');
const LATEST_MS = Date.parse('9999-12-31T23:59:59Z');

/** RFC 3339 with its zone: a time without one would be read in the receiver's own. */
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/**
 * A provider's time, given as Unix seconds or RFC 3339 text, as ISO 8601 in UTC. `null` for anything else and for what
 * lies outside the years 1 to 9999: such a time orders nothing, and it must not make the event unstorable.
 */
export function providerTime(value: unknown): string | null {
  const ms = milliseconds(value);
  return ms >= EARLIEST_MS && ms <= LATEST_MS ? new Date(ms).toISOString() : null;
}

function milliseconds(value: unknown): number {
  if (typeof value === 'number') return value * 1000;
  return typeof value === 'string' && RFC_3339.test(value) ? Date.parse(value) : Number.NaN;
}

import { z } from 'zod';

/** RFC 3339 with seconds and zone; a finer fraction than PostgreSQL keeps would not be the same time after storing. */
const FORM = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?(Z|[+-]\d{2}:\d{2})$/;

/**
 * A time as a sender writes it, read into one spelling in UTC without trailing zeros, such as `2026-03-01T09:00:00Z` or
 * `2026-03-01T09:00:00.25Z`: equal texts are equal times. Years 1 to 9999.
 */
export const instant = z.iso.datetime({ offset: true }).transform((written, context) => {
  const spelled = inUtc(written);
  if (spelled !== null) return spelled;
  context.addIssue({ code: 'custom', message: 'not a time that can be stored' });
  return z.NEVER;
});

/** Whether one time, as `instant` spells it, comes before another. */
export function isBefore(a: string, b: string): boolean {
  // Without the zone's letter a whole second is a prefix of its fractions, and texts sort as times.
  return a.slice(0, -1) < b.slice(0, -1);
}

/** SQL for a `timestamptz` column in the spelling of `instant`. */
export function spelledInstant(column: string): string {
  return `rtrim(rtrim(to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z'`;
}

function inUtc(written: string): string | null {
  const [, seconds, fraction = '', zone] = FORM.exec(written) ?? [];
  if (seconds === undefined || zone === undefined) return null;
  const utc = new Date(`${seconds}${zone}`).toISOString();
  // An offset may lead out of the years that both JavaScript spells with four digits and PostgreSQL has.
  if (!/^(?!0000)\d{4}-/.test(utc)) return null;
  const digits = fraction.replace(/0+$/, '');
  return `${utc.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}${digits === '' ? '' : `.${digits}`}Z`;
}

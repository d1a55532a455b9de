const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Integer and unit. 14 digits hold the longest duration in milliseconds, and no number so long that it overflows. */
export const DURATION_FORM = /^(0|[1-9][0-9]{0,13})(ms|s|m|h|d)$/;

/** A century. What is meant as "for ever" by a larger number would overflow dates and timers. */
const LONGEST_MS = 36_500 * UNIT_MS.d;

/** Milliseconds of `300s`, `5m`, `90d`; `undefined` for any other form and for more than a century. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit] = DURATION_FORM.exec(text) ?? [];
  if (digits === undefined || unit === undefined) return undefined;
  const ms = Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS]; // the pattern admits these units only
  return ms <= LONGEST_MS ? ms : undefined;
}

/** The shortest exact spelling of some milliseconds, as configuration writes it. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const units = Object.entries(UNIT_MS).reverse();
  const [unit, size] = units.find(([, candidate]) => ms % candidate === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

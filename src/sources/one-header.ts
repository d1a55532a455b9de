import type { DistinctHeaders } from './source.js';

/**
 * The one value of a header. Which of two header lines counts is what an attacker would like us to guess, so two are
 * malformed; an empty one is as good as none.
 */
export function oneHeader(
  headers: DistinctHeaders,
  name: string,
): { readonly value: string } | 'missing_header' | 'malformed_header' {
  const [value, ...more] = headers[name] ?? [];
  if (more.length > 0) return 'malformed_header';
  return value === undefined || value === '' ? 'missing_header' : { value };
}

import type { SignatureRefusal } from './source.js';

/** Unix seconds or milliseconds as senders write them; 15 digits stay exact as a number. */
const TIMESTAMP = /^[1-9][0-9]{0,14}$/;

export function isTimestamp(text: string): boolean {
  return TIMESTAMP.test(text);
}

/**
 * The refusal of a signed time too far from ours, in either direction; `undefined` when it is near enough. To be asked
 * after the signature has matched, so that only who holds a secret can raise the operator's suspicion of the clock.
 * @param timestamp decimal digits, in `unit`
 */
export function refuseByTime(
  timestamp: string,
  unit: 's' | 'ms',
  { nowSeconds, toleranceMs }: { readonly nowSeconds: number; readonly toleranceMs: number },
): SignatureRefusal | undefined {
  const skewSeconds = Math.trunc(Number(timestamp) / (unit === 'ms' ? 1000 : 1)) - nowSeconds;
  if (Math.abs(skewSeconds) * 1000 <= toleranceMs) return undefined;
  return { ok: false, cause: 'timestamp_out_of_tolerance', skewSeconds };
}

import { timingSafeEqual } from 'node:crypto';

/** More signatures than any sender sends while it rolls secrets; a bound on the work that a header can ask for. */
export const MAX_SIGNATURES = 16;

/**
 * Position of the first secret whose digest is among those presented, else -1. Always compares every pair, each in
 * constant time; what has not the digest's length cannot be equal and says nothing about a secret.
 */
export function findMatchingSecret(
  presented: readonly Buffer[],
  secrets: readonly string[],
  digestOf: (secret: string) => Buffer,
): number {
  let match = -1;
  secrets.forEach((secret, position) => {
    const expected = digestOf(secret);
    for (const signature of presented) {
      if (signature.length !== expected.length) continue;
      if (timingSafeEqual(signature, expected) && match === -1) match = position;
    }
  });
  return match;
}

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { DistinctHeaders, Verification, VerificationInput } from './source.js';

/** More signatures than any sender sends while it rolls secrets; a bound on the work that a header can ask for. */
const MAX_SIGNATURES = 16;

/** Unix seconds as Stripe writes them; 15 digits stay exact as a number. */
const TIMESTAMP = /^[1-9][0-9]{0,14}$/;

/** A hex SHA-256 as Stripe writes it. Only what fits is decoded, so every comparison is of 32 bytes with 32 bytes. */
const HEX_DIGEST = /^[0-9a-f]{64}$/;

interface SignatureHeader {
  /** As written, since these characters are what was signed. */
  readonly timestamp: string;
  /** Every `v1` value, well-formed or not. */
  readonly signatures: readonly string[];
}

/**
 * Checks a `Stripe-Signature` header (docs.stripe.com/webhooks#verify-manually): hex HMAC-SHA256 over
 * `{t}.{raw body}`, keyed with the whole text of the secret, `whsec_` included. One `v1` that matches one secret is
 * enough, since Stripe sends one per active secret; every other scheme is ignored.
 *
 * Stricter than the official library on purpose: one header line, one `t` in plain decimal digits, a bound on the
 * future as well as on the past, lower-case hex, and no decoding of the body before the MAC.
 */
export function verifyStripeSignature(input: VerificationInput): Verification {
  const header = readHeader(input.headers);
  if (typeof header === 'string') return { ok: false, cause: header };

  const secretPosition = findMatch(header, input);
  if (secretPosition === -1) return { ok: false, cause: 'no_matching_secret' };

  // After the match, so that only somebody who holds a secret can raise the operator's suspicion of the clock.
  const skewSeconds = Number(header.timestamp) - input.nowSeconds;
  if (Math.abs(skewSeconds) * 1000 > input.toleranceMs) {
    return { ok: false, cause: 'timestamp_out_of_tolerance', skewSeconds };
  }
  return { ok: true, secretPosition };
}

function readHeader(
  headers: DistinctHeaders,
): SignatureHeader | 'missing_header' | 'malformed_header' | 'no_supported_signature' {
  const [line, ...more] = headers['stripe-signature'] ?? [];
  if (line === undefined || (line === '' && more.length === 0)) return 'missing_header';
  // Which of two headers counts is what an attacker would like us to guess.
  if (more.length > 0) return 'malformed_header';

  const elements = line.split(',').map(splitElement);
  const [timestamp, ...moreTimestamps] = valuesOf(elements, 't');
  if (timestamp === undefined || moreTimestamps.length > 0 || !TIMESTAMP.test(timestamp)) return 'malformed_header';

  const signatures = valuesOf(elements, 'v1');
  if (signatures.length === 0) return 'no_supported_signature';
  if (signatures.length > MAX_SIGNATURES) return 'malformed_header';
  return { timestamp, signatures };
}

type Element = readonly [name: string, value: string];

function splitElement(element: string): Element {
  const at = element.indexOf('=');
  return at === -1 ? [element, ''] : [element.slice(0, at), element.slice(at + 1)];
}

function valuesOf(elements: readonly Element[], name: string): string[] {
  return elements.filter(([candidate]) => candidate === name).map(([, value]) => value);
}

/** Position of the first secret that made one of the signatures, else -1; always compares every pair. */
function findMatch(header: SignatureHeader, input: VerificationInput): number {
  const presented = header.signatures
    .filter((signature) => HEX_DIGEST.test(signature))
    .map((signature) => Buffer.from(signature, 'hex'));
  let match = -1;
  input.secrets.forEach((secret, position) => {
    const expected = createHmac('sha256', secret).update(`${header.timestamp}.`).update(input.body).digest();
    for (const signature of presented) {
      if (timingSafeEqual(signature, expected) && match === -1) match = position;
    }
  });
  return match;
}

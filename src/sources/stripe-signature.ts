import { createHmac } from 'node:crypto';
import { findMatchingSecret, MAX_SIGNATURES } from './match-secret.js';
import { oneHeader } from './one-header.js';
import { isTimestamp, refuseByTime } from './signed-time.js';
import type { DistinctHeaders, Verification, VerificationInput } from './source.js';

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

  const presented = header.signatures
    .filter((signature) => HEX_DIGEST.test(signature))
    .map((signature) => Buffer.from(signature, 'hex'));
  const secretPosition = findMatchingSecret(presented, input.secrets, (secret) =>
    createHmac('sha256', secret).update(`${header.timestamp}.`).update(input.body).digest(),
  );
  if (secretPosition === -1) return { ok: false, cause: 'no_matching_secret' };
  return refuseByTime(header.timestamp, 's', input) ?? { ok: true, secretPosition };
}

function readHeader(
  headers: DistinctHeaders,
): SignatureHeader | 'missing_header' | 'malformed_header' | 'no_supported_signature' {
  const header = oneHeader(headers, 'stripe-signature');
  if (typeof header === 'string') return header;

  const elements = header.value.split(',').map(splitElement);
  const [timestamp, ...moreTimestamps] = valuesOf(elements, 't');
  if (timestamp === undefined || moreTimestamps.length > 0 || !isTimestamp(timestamp)) return 'malformed_header';

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

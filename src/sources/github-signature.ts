import { createHmac } from 'node:crypto';
import { findMatchingSecret } from './match-secret.js';
import { oneHeader } from './one-header.js';
import type { Verification, VerificationInput } from './source.js';

/** As GitHub writes it. SHA-1 in `X-Hub-Signature` is legacy and never a fallback. */
const SIGNATURE = /^sha256=([0-9a-f]{64})$/;

/**
 * Checks `X-Hub-Signature-256`: hex HMAC-SHA256 over the raw body, keyed with the secret's text (docs.github.com,
 * "Validating webhook deliveries"). No time is signed, and neither are the delivery's ID and type.
 */
export function verifyGithubSignature({ headers, body, secrets }: VerificationInput): Verification {
  const header = oneHeader(headers, 'x-hub-signature-256');
  if (typeof header === 'string') return { ok: false, cause: header };
  const [, digest] = SIGNATURE.exec(header.value) ?? [];
  if (digest === undefined) return { ok: false, cause: 'malformed_header' };

  const presented = [Buffer.from(digest, 'hex')];
  const secretPosition = findMatchingSecret(presented, secrets, (secret) =>
    createHmac('sha256', secret).update(body).digest(),
  );
  return secretPosition === -1 ? { ok: false, cause: 'no_matching_secret' } : { ok: true, secretPosition };
}

import { createHmac, createPublicKey, verify as verifyEd25519, type KeyObject } from 'node:crypto';
import { decodeBase64 } from './base64.js';
import { findMatchingSecret, MAX_SIGNATURES } from './match-secret.js';
import { oneHeader } from './one-header.js';
import { isTimestamp, refuseByTime } from './signed-time.js';
import type { DistinctHeaders, Verification, VerificationInput } from './source.js';

/** Header names of the specification, and those of Svix, from which it came. One delivery uses one family. */
const FAMILIES = ['webhook', 'svix'] as const;

/** The specification forbids the dot, which separates the ID from the time in what is signed. */
const MESSAGE_ID = /^[\x21-\x2d\x2f-\x7e]{1,255}$/;

/** Each costs far more than an HMAC; no sender has more keys in use. */
const MAX_PUBLIC_KEY_SIGNATURES = 4;

const SIGNATURE_BYTES = { v1: 32, v1a: 64 } as const;

export interface StandardHeaders {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

/**
 * Checks the three headers of Standard Webhooks 1.0.0 (standardwebhooks.com): signatures `v1,` + base64 HMAC-SHA256 or
 * `v1a,` + base64 ed25519 over `{id}.{timestamp}.{raw body}`. A `whpk_` entry verifies `v1a` only, every other entry
 * `v1` only, so nobody can sign with a public key. Anything malformed about the headers is a signature failure.
 */
export function verifyStandardWebhooks(input: VerificationInput): Verification {
  const headers = readStandardHeaders(input.headers);
  if (typeof headers === 'string') return { ok: false, cause: headers };
  const { id, timestamp, signature } = headers;
  const presented = readSignatures(signature);
  if (presented === undefined) return { ok: false, cause: 'malformed_header' };

  const algorithms = new Set(input.secrets.map((secret) => (isPublicKey(secret) ? 'v1a' : 'v1')));
  if (!presented.some(({ version }) => version === 'v1' || version === 'v1a')) {
    return { ok: false, cause: 'no_supported_signature' };
  }
  const usable = presented.filter(({ version }) => algorithms.has(version as 'v1' | 'v1a'));
  if (usable.length === 0) return { ok: false, cause: 'no_supported_signature' };

  const prefix = `${id}.${timestamp}.`;
  const secretPosition = findMatch(usable, prefix, input);
  if (secretPosition === -1) return { ok: false, cause: 'no_matching_secret' };
  return refuseByTime(timestamp, 's', input) ?? { ok: true, secretPosition };
}

/** The three headers of one family, well-formed; what is wrong with them otherwise. */
export function readStandardHeaders(headers: DistinctHeaders): StandardHeaders | 'missing_header' | 'malformed_header' {
  const families = FAMILIES.filter((name) => Object.keys(headers).some((header) => header.startsWith(`${name}-`)));
  const [family] = families;
  if (family === undefined) return 'missing_header';
  // Which family counts is what an attacker would like us to guess.
  if (families.length > 1) return 'malformed_header';
  const id = oneHeader(headers, `${family}-id`);
  const timestamp = oneHeader(headers, `${family}-timestamp`);
  const signature = oneHeader(headers, `${family}-signature`);
  if (typeof id === 'string') return id;
  if (typeof timestamp === 'string') return timestamp;
  if (typeof signature === 'string') return signature;
  if (!MESSAGE_ID.test(id.value) || !isTimestamp(timestamp.value)) return 'malformed_header';
  return { id: id.value, timestamp: timestamp.value, signature: signature.value };
}

interface PresentedSignature {
  readonly version: string;
  /** `undefined` when it is not strict base64. */
  readonly bytes: Buffer | undefined;
}

function readSignatures(header: string): PresentedSignature[] | undefined {
  const entries = header.split(' ').filter((entry) => entry !== '');
  if (entries.length > MAX_SIGNATURES) return undefined;
  if (entries.filter((entry) => entry.startsWith('v1a,')).length > MAX_PUBLIC_KEY_SIGNATURES) return undefined;
  return entries.map((entry) => {
    const at = entry.indexOf(',');
    if (at === -1) return { version: '', bytes: undefined };
    return { version: entry.slice(0, at), bytes: decodeBase64(entry.slice(at + 1)) };
  });
}

function findMatch(presented: readonly PresentedSignature[], prefix: string, input: VerificationInput): number {
  const bytesOf = (version: 'v1' | 'v1a'): Buffer[] =>
    presented.flatMap((signature) =>
      signature.version === version && signature.bytes?.length === SIGNATURE_BYTES[version] ? [signature.bytes] : [],
    );
  const isSymmetric = input.secrets.map((secret) => !isPublicKey(secret));
  const symmetric = input.secrets.filter((_secret, position) => isSymmetric[position]);
  const bySecret = findMatchingSecret(bytesOf('v1'), symmetric, (secret) =>
    createHmac('sha256', keyBytes(secret)).update(prefix).update(input.body).digest(),
  );
  const positions = [...input.secrets.keys()];
  if (bySecret !== -1) return positions.filter((position) => isSymmetric[position])[bySecret] ?? -1;
  return (
    positions.find((position) => !isSymmetric[position] && isSignedBy(input, position, prefix, bytesOf('v1a'))) ?? -1
  );
}

function isSignedBy(
  input: VerificationInput,
  position: number,
  prefix: string,
  signatures: readonly Buffer[],
): boolean {
  if (signatures.length === 0) return false;
  const key = publicKey(input.secrets[position] ?? '');
  const message = Buffer.concat([Buffer.from(prefix), input.body]);
  return signatures.some((signature) => verifyEd25519(null, message, key, signature));
}

function isPublicKey(secret: string): boolean {
  return secret.startsWith('whpk_');
}

/** The configuration has checked the form; padding may be missing, as some senders show their secrets. */
function keyBytes(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}

function publicKey(secret: string): KeyObject {
  const x = Buffer.from(secret.replace(/^whpk_/, ''), 'base64').toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

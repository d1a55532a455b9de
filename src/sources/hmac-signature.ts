import { createHmac } from 'node:crypto';
import type { HmacSignature } from '../domain/hmac-sender.js';
import { decodeBase64 } from './base64.js';
import { isIdentifier } from './identifier.js';
import { findMatchingSecret, MAX_SIGNATURES } from './match-secret.js';
import { oneHeader } from './one-header.js';
import { isTimestamp, refuseByTime } from './signed-time.js';
import type { DistinctHeaders, SignatureRefusal, Verification, VerificationInput } from './source.js';

export interface HmacVerifierSettings {
  readonly signature: HmacSignature;
  readonly secretEncoding: 'utf8' | 'hex' | 'base64';
  /** Header of the event ID where the signature covers it, in lower case; else `null`. */
  readonly signedIdHeader: string | null;
}

const DIGEST_BYTES = { sha256: 32, sha512: 64 } as const;

/** What the headers of one delivery say, well-formed. */
interface Presented {
  readonly signatures: readonly string[];
  /** As written, since these characters are what was signed; empty when none is. */
  readonly timestamp: string;
  readonly id: string;
}

type HeaderFault = Exclude<SignatureRefusal['cause'], 'timestamp_out_of_tolerance' | 'no_matching_secret'>;

/** Checks an HMAC over the raw bytes and what the template puts around them, by the configured description. */
export function verifyHmac(settings: HmacVerifierSettings, input: VerificationInput): Verification {
  const presented = readPresented(settings, input.headers);
  if (typeof presented === 'string') return { ok: false, cause: presented };

  const { signature } = settings;
  const digests = presented.signatures.flatMap((text) => decodeDigest(signature, text) ?? []);
  const parts = signedParts(signature.signed, presented, input.body);
  const secretPosition = findMatchingSecret(digests, input.secrets, (secret) => {
    const hmac = createHmac(signature.algorithm, keyBytes(secret, settings.secretEncoding));
    for (const part of parts) hmac.update(part);
    return hmac.digest();
  });
  if (secretPosition === -1) return { ok: false, cause: 'no_matching_secret' };
  const { timestamp } = signature;
  const refusal = timestamp === null ? undefined : refuseByTime(presented.timestamp, timestamp.unit, input);
  return refusal ?? { ok: true, secretPosition };
}

function readPresented(settings: HmacVerifierSettings, headers: DistinctHeaders): Presented | HeaderFault {
  const { signature, signedIdHeader } = settings;
  const header = oneHeader(headers, signature.header);
  if (typeof header === 'string') return header;
  const values = fieldValues(signature, header.value);
  if (typeof values === 'string') return values;
  const timestamp = readTimestamp(signature, headers, header.value);
  if (typeof timestamp === 'string') return timestamp;
  const id = signedIdHeader === null ? { value: '' } : oneHeader(headers, signedIdHeader);
  if (typeof id === 'string') return id;
  if (signedIdHeader !== null && !isIdentifier(id.value)) return 'malformed_header';
  return { signatures: values, timestamp: timestamp.value, id: id.value };
}

/** The signatures without their prefix: several only where the header has fields, of a sender that rolls its secret. */
function fieldValues({ fields, prefix }: HmacSignature, header: string): string[] | HeaderFault {
  const values = fields === null ? [header] : valuesOf(fields.separator, header, fields.signature);
  if (values.length === 0) return 'no_supported_signature';
  if (values.length > MAX_SIGNATURES) return 'malformed_header';
  const prefixed = values.filter((value) => value.startsWith(prefix));
  return prefixed.length === 0 ? 'malformed_header' : prefixed.map((value) => value.slice(prefix.length));
}

function readTimestamp(
  { timestamp, fields }: HmacSignature,
  headers: DistinctHeaders,
  header: string,
): { readonly value: string } | 'missing_header' | 'malformed_header' {
  if (timestamp === null) return { value: '' };
  if (timestamp.kind === 'header') {
    const read = oneHeader(headers, timestamp.header);
    return typeof read === 'string' || isTimestamp(read.value) ? read : 'malformed_header';
  }
  const [value, ...more] = fields === null ? [] : valuesOf(fields.separator, header, timestamp.field);
  return value === undefined || more.length > 0 || !isTimestamp(value) ? 'malformed_header' : { value };
}

function valuesOf(separator: string, header: string, name: string): string[] {
  const start = `${name}=`;
  return header
    .split(separator)
    .filter((part) => part.startsWith(start))
    .map((part) => part.slice(start.length));
}

/** Only the form that the sender's own code writes: lower-case hex or padded base64, of the digest's length. */
function decodeDigest({ encoding, algorithm }: HmacSignature, text: string): Buffer | undefined {
  const bytes = encoding === 'hex' ? decodeHex(text) : decodeBase64(text);
  return bytes?.length === DIGEST_BYTES[algorithm] ? bytes : undefined;
}

function decodeHex(text: string): Buffer | undefined {
  return /^([0-9a-f]{2})+$/.test(text) ? Buffer.from(text, 'hex') : undefined;
}

/** What is signed, piece by piece: the template with its placeholders filled. */
export function signedParts(
  template: string,
  { timestamp, id }: Pick<Presented, 'timestamp' | 'id'>,
  body: Buffer,
): (string | Buffer)[] {
  const values = new Map<string, string | Buffer>([
    ['{body}', body],
    ['{timestamp}', timestamp],
    ['{id}', id],
  ]);
  return template.split(/(\{body\}|\{timestamp\}|\{id\})/).map((part) => values.get(part) ?? part);
}

function keyBytes(secret: string, encoding: HmacVerifierSettings['secretEncoding']): Buffer {
  return Buffer.from(secret, encoding);
}

import type { SourceKind } from './source-schemas.js';

export type SecretEncoding = 'utf8' | 'hex' | 'base64';

/** What is wrong with a secret, after the words that name it; `warn` for what works and should be better. */
export type SecretVerdict =
  | { readonly kind: 'good' }
  | { readonly kind: 'weak'; readonly text: string }
  | { readonly kind: 'bad'; readonly text: string };

const STRIPE_MIN_CHARACTERS = 8;

/** Standard Webhooks 1.0.0, "Signature scheme". */
const STANDARD_MIN_BYTES = 24;
const STANDARD_MAX_BYTES = 64;
const ED25519_KEY_BYTES = 32;

const PLAIN_MIN_BYTES = 8;
const PLAIN_GOOD_BYTES = 24;

const PREFIXES = ['whsec_', 'whpk_', 'whsk_'];

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Whether a secret may be worked with. An empty key is a key that everybody has; white space and line breaks come from
 * copying and make every genuine delivery fail.
 */
export function judgeSecret(text: string, kind: SourceKind, encoding: SecretEncoding): SecretVerdict {
  if (text === '') return bad('is empty');
  // Before control characters: a line break at the end is both, and this says where to look.
  if (text !== text.trim()) return bad('has white space or a line break at its beginning or end');
  if (CONTROL.test(text)) return bad('has control characters');
  if (PREFIXES.includes(text)) return bad('is a prefix without a secret');
  switch (kind) {
    case 'stripe':
      return judgeStripe(text);
    case 'standard-webhooks':
      return judgeStandardWebhooks(text);
    case 'github':
      return judgeBytes(Buffer.byteLength(text));
    case 'hmac':
      return judgeEncoded(text, encoding);
  }
}

function judgeStripe(text: string): SecretVerdict {
  if (!text.startsWith('whsec_')) return bad('does not begin with whsec_: it is not the signing secret of an endpoint');
  // Stripe's secrets have none, so this is two secrets in one: they would be one wrong key together.
  if (text.includes(',')) return bad('has a comma: give each secret an entry of its own');
  if (text.length - 'whsec_'.length < STRIPE_MIN_CHARACTERS) {
    return bad(`has fewer than ${STRIPE_MIN_CHARACTERS} characters after whsec_`);
  }
  return { kind: 'good' };
}

function judgeStandardWebhooks(text: string): SecretVerdict {
  if (text.startsWith('whsk_')) return bad('is a private key (whsk_): a receiver needs the public one (whpk_)');
  if (text.startsWith('whpk_')) {
    return base64Bytes(text.slice('whpk_'.length)) === ED25519_KEY_BYTES
      ? { kind: 'good' }
      : bad(`is not whpk_ and the base64 of ${ED25519_KEY_BYTES} bytes`);
  }
  const bytes = base64Bytes(text.startsWith('whsec_') ? text.slice('whsec_'.length) : text);
  if (bytes === undefined) return bad('is not base64, with or without whsec_ before it');
  return bytes >= STANDARD_MIN_BYTES && bytes <= STANDARD_MAX_BYTES
    ? { kind: 'good' }
    : bad(
        `has ${bytes < STANDARD_MIN_BYTES ? 'fewer' : 'more'} than ${STANDARD_MIN_BYTES} to ${STANDARD_MAX_BYTES} bytes`,
      );
}

function judgeEncoded(text: string, encoding: SecretEncoding): SecretVerdict {
  switch (encoding) {
    case 'utf8':
      return judgeBytes(Buffer.byteLength(text));
    case 'hex':
      return /^([0-9a-fA-F]{2})+$/.test(text) ? judgeBytes(text.length / 2) : bad('is not hex, as secretEncoding says');
    case 'base64': {
      const bytes = base64Bytes(text);
      return bytes === undefined ? bad('is not base64, as secretEncoding says') : judgeBytes(bytes);
    }
  }
}

function judgeBytes(bytes: number): SecretVerdict {
  if (bytes < PLAIN_MIN_BYTES) return bad(`has fewer than ${PLAIN_MIN_BYTES} bytes`);
  if (bytes >= PLAIN_GOOD_BYTES) return { kind: 'good' };
  return { kind: 'weak', text: `has fewer than ${PLAIN_GOOD_BYTES} bytes: use a longer one` };
}

/** Decoded length; padding may be left out, as some senders show their secrets. `undefined` when it is not base64. */
function base64Bytes(text: string): number | undefined {
  const body = text.replace(/={1,2}$/, '');
  const isWhole = text === body || text.length % 4 === 0;
  if (!isWhole || !/^[A-Za-z0-9+/]+$/.test(body) || body.length % 4 === 1) return undefined;
  return Math.floor((body.length * 3) / 4);
}

function bad(text: string): SecretVerdict {
  return { kind: 'bad', text };
}

import { createHash } from 'node:crypto';
import { isLosslessNumber, parse } from 'lossless-json';
import type { EventIdPlace } from '../domain/hmac-sender.js';
import { isIdentifier } from './identifier.js';
import { atPointer } from './json-pointer.js';
import { oneHeader } from './one-header.js';
import type { DistinctHeaders } from './source.js';

/** Every digit of an integer, without a fraction or exponent: what two readers cannot read as two numbers. */
const INTEGER = /^(0|-?[1-9][0-9]*)$/;

/** @returns `undefined` when the event has no ID of the configured form. */
export function readEventId(
  settings: EventIdPlace,
  event: { readonly headers: DistinctHeaders; readonly text: string; readonly payload: unknown },
): string | undefined {
  const id = readId(settings, event);
  return isIdentifier(id) ? id : undefined;
}

function readId(
  settings: EventIdPlace,
  event: { readonly headers: DistinctHeaders; readonly text: string; readonly payload: unknown },
): unknown {
  switch (settings.kind) {
    case 'header': {
      const header = oneHeader(event.headers, settings.header);
      return typeof header === 'string' ? undefined : header.value;
    }
    case 'body':
      return settings.type === 'string'
        ? atPointer(event.payload, settings.pointer)
        : integerDigits(atPointer(parseLossless(event.text), settings.pointer));
    case 'derived':
      return deriveId(parseLossless(event.text), settings.pointers);
  }
}

function integerDigits(value: unknown): string | undefined {
  if (!isLosslessNumber(value)) return undefined;
  const digits = value.toString();
  return INTEGER.test(digits) ? digits : undefined;
}

/**
 * `derived:` and the SHA-256 of the fields in order, each as type letter, length in bytes, colon and text, so that no
 * two lists of fields hash the same bytes. Numbers count as they are written.
 * @returns `undefined` when a field is missing, null, an object or a list
 */
function deriveId(value: unknown, pointers: readonly string[]): string | undefined {
  const hash = createHash('sha256');
  for (const pointer of pointers) {
    const field = scalar(atPointer(value, pointer));
    if (field === undefined) return undefined;
    hash.update(`${field.type}${field.bytes.length}:`).update(field.bytes);
  }
  return `derived:${hash.digest('hex')}`;
}

interface Scalar {
  readonly type: 's' | 'u' | 'n' | 'b';
  readonly bytes: Buffer;
}

function scalar(value: unknown): Scalar | undefined {
  if (typeof value === 'string') return textScalar(value);
  if (typeof value === 'boolean') return { type: 'b', bytes: Buffer.from(String(value)) };
  return isLosslessNumber(value) ? { type: 'n', bytes: Buffer.from(value.toString()) } : undefined;
}

/** UTF-8, in which every lone surrogate would be the same character: what has one is hashed as UTF-16. */
function textScalar(text: string): Scalar {
  const bytes = Buffer.from(text, 'utf8');
  return bytes.toString('utf8') === text ? { type: 's', bytes } : { type: 'u', bytes: Buffer.from(text, 'utf16le') };
}

/** The text has passed `JSON.parse`; of a key twice the last counts, as there. */
function parseLossless(text: string): unknown {
  return parse(text, undefined, { onDuplicateKey: ({ newValue }) => newValue });
}

import { isAscii } from 'node:buffer';
import type { DistinctHeaders } from './source.js';

/** Whether the sender says that the body is a form. */
export function isForm(headers: DistinctHeaders): boolean {
  const [value = ''] = headers['content-type'] ?? [];
  return /^application\/x-www-form-urlencoded *(;|$)/i.test(value);
}

/**
 * The decoded bytes of a form's only field of this name. Strict, since two readers must not see two values: ASCII, no
 * second field of the name however it is spelled, no broken escapes, UTF-8. And no quotation mark, which forms escape
 * and which stands around every text in JSON: nobody signs the `Content-Type`, so no body may be readable as both.
 * @returns `undefined` when that is not what the body is.
 */
export function formField(body: Buffer, name: string): Buffer | undefined {
  if (!isAscii(body) || body.includes('"')) return undefined;
  const fields = body
    .toString('latin1')
    .split('&')
    .map((field) => {
      const at = field.indexOf('=');
      return at === -1 ? [field, ''] : [field.slice(0, at), field.slice(at + 1)];
    });
  const names = fields.map(([written = '']) => decode(written));
  if (names.includes(undefined) || names.filter((candidate) => candidate === name).length !== 1) return undefined;
  const value = decode(fields[names.indexOf(name)]?.[1] ?? '');
  return value === undefined ? undefined : Buffer.from(value, 'utf8');
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

import { isUtf8 } from 'node:buffer';

/** Levels of nesting that a body may have: far beyond any provider's, far below what exhausts a stack anywhere. */
const MAX_DEPTH = 64;

export type JsonRefusal = 'invalid_json' | 'json_too_deep' | 'json_duplicate_key';

export type JsonBody =
  | {
      readonly ok: true;
      /** The body's text to the character; UTF-8 encoding it gives the body's bytes again. */
      readonly text: string;
      readonly value: unknown;
    }
  | { readonly ok: false; readonly code: JsonRefusal };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COLON = 0x3a;

/**
 * Reads a verified body as JSON, strictly: UTF-8 without a mark or a replaced byte, one value, at most 64 levels, and
 * no key twice at the top level, however it is spelled (which of the two counts differs from reader to reader, so the
 * sender and we might mean different events). Linear in the body's length, without recursion.
 */
export function readJsonBody(body: Buffer): JsonBody {
  // Before the parser, which would build a million nested arrays from a megabyte of brackets.
  if (isDeeperThan(body, MAX_DEPTH)) return { ok: false, code: 'json_too_deep' };
  const parsed = parse(body);
  if (parsed === undefined) return { ok: false, code: 'invalid_json' };
  if (repeatsTopLevelKey(parsed.text)) return { ok: false, code: 'json_duplicate_key' };
  return { ok: true, ...parsed };
}

function parse(body: Buffer): { text: string; value: unknown } | undefined {
  // Asked first, since decoding would replace what is not UTF-8. A mark at the start stays in the text, where
  // JSON.parse refuses it: what was signed is what is kept.
  if (!isUtf8(body)) return undefined;
  const text = body.toString('utf8');
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/**
 * Counts brackets outside strings. On bytes, since none of those that matter occurs inside a longer UTF-8 sequence.
 * On text that is not JSON the count may be off, which only decides between two refusals.
 */
function isDeeperThan(body: Buffer, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) {
      inString = true;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      if (depth > limit) return true;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
    }
  }
  return false;
}

/** Only for text that JSON.parse has accepted: every string in it ends, and a colon outside strings follows a key. */
function repeatsTopLevelKey(text: string): boolean {
  const seen = new Set<string>();
  let depth = 0;
  let lastString = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      const end = endOfString(text, at);
      if (depth === 1) lastString = text.slice(at, end + 1);
      at = end;
    } else if (character === OPEN_BRACE || character === OPEN_BRACKET) {
      depth += 1;
    } else if (character === CLOSE_BRACE || character === CLOSE_BRACKET) {
      depth -= 1;
    } else if (character === COLON && depth === 1) {
      const key = unescaped(lastString);
      if (seen.has(key)) return true;
      seen.add(key);
    }
  }
  return false;
}

/** Index of the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** A key as it is meant: `"\u0069d"` is `id`. */
function unescaped(quoted: string): string {
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

export interface BodyVariant {
  /** What must have been done to the sender's body to make it ours; a machine code. */
  readonly alteration: string;
  /** The body as the sender may have signed it. */
  readonly body: Buffer;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;

/**
 * What a body may have been before something in between changed it: line ends, a mark or line break at an end, white
 * space between JSON tokens (parsed and written again), or UTF-8 read as Latin-1. Works on bytes and parses nothing.
 */
export function* bodyVariants(body: Buffer): Generator<BodyVariant> {
  const text = body.toString('latin1');
  const variants: readonly (readonly [alteration: string, variant: string | undefined])[] = [
    ['line_break_added', text.endsWith('\n') ? text.replace(/\r?\n$/, '') : undefined],
    ['line_break_removed', `${text}\n`],
    ['line_ends_changed', text.includes('\r\n') ? text.replaceAll('\r\n', '\n') : text.replaceAll('\n', '\r\n')],
    ['byte_order_mark_added', text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : undefined],
    ['json_rewritten', withoutWhiteSpace(body)],
    ['json_rewritten', withIndent(body)],
    ['encoded_twice', Buffer.from(body.toString('utf8'), 'latin1').toString('latin1')],
  ];
  for (const [alteration, variant] of variants) {
    if (variant !== undefined && variant !== text) yield { alteration, body: Buffer.from(variant, 'latin1') };
  }
}

const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf';

/** As `JSON.stringify` writes it, if it is JSON. */
function withoutWhiteSpace(body: Buffer): string {
  return tokens(body).join('');
}

/** As `JSON.stringify(value, null, 2)` writes it, which is how Stripe does, if it is JSON. */
function withIndent(body: Buffer): string {
  let depth = 0;
  let written = '';
  let last = '';
  for (const token of tokens(body)) {
    const closes = token === '}' || token === ']';
    if (closes) depth -= 1;
    const isEmpty = closes && (last === '{' || last === '[');
    if ((closes && !isEmpty) || last === ',' || ((last === '{' || last === '[') && !closes)) {
      written += `\n${'  '.repeat(Math.max(0, depth))}`;
    }
    written += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth += 1;
    last = token;
  }
  return written;
}

/** Structural characters, whole strings and runs of anything else, in order, without the white space between them. */
function tokens(body: Buffer): string[] {
  const found: string[] = [];
  let at = 0;
  while (at < body.length) {
    const end = endOfToken(body, at);
    const token = body.toString('latin1', at, end);
    if (!/^[ \t\r\n]+$/.test(token)) found.push(token);
    at = end;
  }
  return found;
}

const STRUCTURAL = new Set(Buffer.from('{}[],:'));
const WHITE_SPACE = new Set([0x20, 0x09, 0x0d, LINE_FEED]);

function endOfToken(body: Buffer, start: number): number {
  const first = body[start] ?? 0;
  if (STRUCTURAL.has(first)) return start + 1;
  if (first === QUOTE) return endOfString(body, start);
  const isSpace = WHITE_SPACE.has(first);
  let at = start + 1;
  while (at < body.length) {
    const byte = body[at] ?? 0;
    if (STRUCTURAL.has(byte) || byte === QUOTE || WHITE_SPACE.has(byte) !== isSpace) break;
    at += 1;
  }
  return at;
}

/** One past the closing quote, or the end of what is no JSON. */
function endOfString(body: Buffer, start: number): number {
  let at = start + 1;
  while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1;
  return Math.min(at + 1, body.length);
}

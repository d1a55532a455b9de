export interface BodyVariant {
  /** What must have been done to the sender's body to make it ours; a machine code. */
  readonly alteration: string;
  /** The body as the sender may have signed it. */
  readonly body: Buffer;
}

/**
 * What a body may have been before something in between changed it: line ends, a mark or line break at an end, white
 * space between JSON tokens (parsed and written again), or UTF-8 read as Latin-1. Works on bytes and parses nothing,
 * in time and memory that grow with the body's length and nothing else: anybody may have sent it.
 */
export function* bodyVariants(body: Buffer): Generator<BodyVariant> {
  const text = body.toString('latin1');
  const latin1 = (variant: string | undefined): Buffer | undefined =>
    variant === undefined ? undefined : Buffer.from(variant, 'latin1');
  const variants: readonly (readonly [alteration: string, make: () => Buffer | undefined])[] = [
    ['line_break_added', () => latin1(text.endsWith('\n') ? text.replace(/\r?\n$/, '') : undefined)],
    ['line_break_removed', () => latin1(`${text}\n`)],
    [
      'line_ends_changed',
      () => latin1(text.includes('\r\n') ? text.replaceAll('\r\n', '\n') : text.replaceAll('\n', '\r\n')),
    ],
    ['byte_order_mark_added', () => latin1(text.startsWith(BYTE_ORDER_MARK) ? text.slice(3) : undefined)],
    ['json_rewritten', () => rewritten(body, 'compact')],
    ['json_rewritten', () => rewritten(body, 'indented')],
    ['encoded_twice', () => Buffer.from(body.toString('utf8'), 'latin1')],
  ];
  for (const [alteration, make] of variants) {
    const variant = make();
    if (variant !== undefined && !variant.equals(body)) yield { alteration, body: variant };
  }
}

const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf';

const LINE_FEED = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const WHITE_SPACE = new Set([SPACE, 0x09, 0x0d, LINE_FEED]);
const OPENING = new Set(Buffer.from('{['));
const CLOSING = new Set(Buffer.from('}]'));
const STRUCTURAL = new Set(Buffer.from('{}[],:'));

/** Levels of a body that is worth a guess: deeper ones are refused anyway, and their indentation would fill the memory. */
const MAX_DEPTH = 64;
/** What is set aside for an indented form, in lengths of the body; a real one takes about two. */
const MAX_GROWTH = 6;

/**
 * The body with other white space between its tokens, if it is JSON: as `JSON.stringify(value)` writes it, or as
 * `JSON.stringify(value, null, 2)` does, which is how Stripe writes.
 * @returns `undefined` for what nests too deep or would grow too long
 */
function rewritten(body: Buffer, layout: 'compact' | 'indented'): Buffer | undefined {
  const isIndented = layout === 'indented';
  const written = Buffer.allocUnsafe(body.length * (isIndented ? MAX_GROWTH : 1));
  let length = 0;
  let depth = 0;
  let isFirst = false; // of what was just opened
  const breakLine = (): boolean => {
    if (!isIndented) return true;
    if (length + 1 + 2 * depth + 2 * body.length > written.length) return false; // all tokens and a space after each
    written[length] = LINE_FEED;
    written.fill(SPACE, length + 1, length + 1 + 2 * depth);
    length += 1 + 2 * depth;
    return true;
  };
  for (let at = 0, end = 0; at < body.length; at = end) {
    const byte = body[at] ?? 0;
    end = endOfToken(body, at);
    if (WHITE_SPACE.has(byte)) continue;
    const closes = CLOSING.has(byte);
    if (closes) depth -= 1;
    // A break after what opens and before what closes, and none in `{}`.
    if (depth < 0 || (isFirst !== closes && !breakLine())) return undefined;
    length += body.copy(written, length, at, end);
    isFirst = OPENING.has(byte);
    if (isFirst) depth += 1;
    if (depth > MAX_DEPTH) return undefined;
    if (byte === COMMA && !breakLine()) return undefined;
    if (byte === COLON && isIndented) written[length++] = SPACE;
  }
  return written.subarray(0, length);
}

/** One past a structural character, a whole string, or a run of white space or of anything else. */
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

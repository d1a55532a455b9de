/** White space, a comment to the end of the line, or an empty statement. */
const BLANK = /[\s;]+|--[^\n\r]*/y;
const WORD = /[a-z_]+/iy;
const COMMENT_EDGE = /\/\*|\*\//g;

/** Words of a statement that are enough to tell what it is. */
const WORDS_THAT_TELL = 4;

/**
 * The words by which a statement begins or ends a transaction, else undefined. Going back to a savepoint is a handler's
 * own. Only for what is sent as one statement: no more than its beginning is looked at.
 */
export function transactionControl(text: string): string | undefined {
  const words = firstWords(text);
  const [first, second = ''] = words;
  switch (first) {
    case 'begin':
    case 'commit':
    case 'end':
    case 'abort':
      return first;
    case 'rollback':
      return words[['work', 'transaction'].includes(second) ? 2 : 1] === 'to' ? undefined : first;
    case 'start':
    case 'prepare':
      return second === 'transaction' ? `${first} ${second}` : undefined;
    default:
      return undefined;
  }
}

/**
 * A query as pg takes it, whose text the server refuses if it has more than one statement in it: it is sent by the
 * extended protocol, whose messages have room for one.
 */
export function asOneStatement(query: unknown): unknown {
  if (typeof query === 'string') return { text: query, queryMode: 'extended' };
  if (typeof query !== 'object' || query === null) return query;
  // As pg copies it: `text` and `values` may be getters of a class, as those of template libraries are.
  return Object.create(Object.getPrototypeOf(query) as object | null, {
    ...Object.getOwnPropertyDescriptors(query),
    queryMode: { value: 'extended', writable: true, enumerable: true, configurable: true },
  }) as unknown;
}

function firstWords(text: string): readonly string[] {
  const words: string[] = [];
  for (let at = skipBlank(text, 0); words.length < WORDS_THAT_TELL; at = skipBlank(text, at)) {
    WORD.lastIndex = at;
    const [word] = WORD.exec(text) ?? [];
    if (word === undefined) break;
    words.push(word.toLowerCase());
    at += word.length;
  }
  return words;
}

function skipBlank(text: string, from: number): number {
  let at = from;
  for (;;) {
    BLANK.lastIndex = at;
    const [blank] = BLANK.exec(text) ?? [];
    if (blank !== undefined) at += blank.length;
    else if (text.startsWith('/*', at)) at = endOfComment(text, at);
    else return at;
  }
}

/** Comments in PostgreSQL may stand in comments. */
function endOfComment(text: string, from: number): number {
  let depth = 0;
  COMMENT_EDGE.lastIndex = from;
  for (let edge = COMMENT_EDGE.exec(text); edge !== null; edge = COMMENT_EDGE.exec(text)) {
    depth += edge[0] === '/*' ? 1 : -1;
    if (depth === 0) return COMMENT_EDGE.lastIndex;
  }
  return text.length;
}

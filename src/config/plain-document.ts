import { inDocument, type DocumentPath, type Problem } from './problem.js';

/** No legal document is deeper; a cycle in one given in code ends here too. */
const DEEPEST = 16;

/** Bounds the work on a document that no person wrote (an alias of an alias of an alias). */
const MOST_VALUES = 100_000;

/** A cycle is met again on every way round it. */
const MOST_PROBLEMS = 20;

export interface PlainDocument {
  /** Objects, lists, texts, numbers, booleans and null, shared with nobody. */
  readonly document: unknown;
  readonly problems: readonly Problem[];
}

/**
 * Copies a document that came from YAML or from code. Everything after this may rely on plain JSON values, and the
 * caller may change its own object later. An `undefined` field counts as absent.
 */
export function plainDocument(given: unknown): PlainDocument {
  const problems: Problem[] = [];
  let values = 0;

  const copy = (value: unknown, path: DocumentPath): unknown => {
    values += 1;
    if (path.length > DEEPEST || values > MOST_VALUES) return refuse(path, 'is nested too deep or too large');
    if (isScalar(value)) return value;
    if (Array.isArray(value)) return value.map((item, index) => copy(item, [...path, index]));
    if (!isPlainObject(value)) return refuse(path, 'must be plain data: text, number, true, false, list or map');
    return Object.fromEntries(copyFields(value, path));
  };

  const copyFields = (value: object, path: DocumentPath): [string, unknown][] =>
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .flatMap(([key, field]): [string, unknown][] => {
        // Assigning it would change what the copy inherits from, and schema libraries pass over it in silence.
        if (key !== '__proto__') return [[key, copy(field, [...path, key])]];
        refuse([...path, key], 'unknown key');
        return [];
      });

  const refuse = (path: DocumentPath, text: string): null => {
    if (problems.length < MOST_PROBLEMS) problems.push(inDocument(path, text));
    return null;
  };

  return { document: copy(given, []), problems };
}

function isScalar(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Not compared with our own Object.prototype: a test runner or a vm context has another one.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

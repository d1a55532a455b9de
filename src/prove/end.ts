import { isDeepStrictEqual } from 'node:util';
import type { OperationView } from '../testing/processing.js';
import type { ProofAspect } from '../testing/proof.js';

/** What is left when a schedule is over. */
export interface End {
  /** What the proof's `state` read, as JSON. */
  readonly state: unknown;
  /** What the proof's `effects` told, as JSON. */
  readonly outside: unknown;
  /** By key: kind, parameters and status. */
  readonly operations: Readonly<Record<string, EndOfOperation>>;
  /** By name: `done`, `quarantined: reason`, `waiting: reason`. */
  readonly events: Readonly<Record<string, string>>;
  /** The same for deliveries under a new ID, by the name of the event that they repeat. */
  readonly copies: Readonly<Record<string, string>>;
}

export interface EndOfOperation {
  readonly kind: string;
  readonly params: unknown;
  readonly status: string;
  /** A lost answer left it to a person, as its policy says: whether it happened is not known, and not said. */
  readonly isLeftOpen: boolean;
}

/** One value that is not as it should be. */
export interface Difference {
  readonly aspect: ProofAspect;
  /** As `state[0].status`. */
  readonly path: string;
  readonly expected: unknown;
  readonly found: unknown;
}

export function endOfOperation({ kind, params, status, reason }: OperationView): EndOfOperation {
  return { kind, params, status, isLeftOpen: status === 'parked' && reason === 'outcome_unknown' };
}

/** A value as JSON keeps it, with big integers as text. */
export function asJson(value: unknown): unknown {
  const text = JSON.stringify(value, (_name, field: unknown) => (typeof field === 'bigint' ? field.toString() : field));
  return typeof text === 'string' ? (JSON.parse(text) as unknown) : null;
}

/**
 * What happened outside, as books: effects of different events happen in the order of arrival, which means nothing. A
 * list is sorted, and so is each list in an object of books; what is inside of an entry stays as it is.
 * @param value as JSON
 */
export function unordered(value: unknown): unknown {
  if (Array.isArray(value)) return sorted(value);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, book]) => [name, Array.isArray(book) ? sorted(book) : book]),
  );
}

function sorted(entries: readonly unknown[]): readonly unknown[] {
  return entries
    .map((entry) => ({ entry, text: canonical(entry) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ entry }) => entry);
}

/** JSON with the fields of every object in one order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, field: unknown) =>
    isRecord(field) ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1))) : field,
  );
}

/** Where an end differs from the one that it should be, in the given aspects; state first. */
export function differences(expected: End, found: End, aspects: readonly ProofAspect[]): readonly Difference[] {
  return aspects.flatMap((aspect) => {
    switch (aspect) {
      case 'state':
        return diff(aspect, 'state', expected.state, found.state);
      case 'effects':
        return differentEffects(expected, found);
      case 'events':
        return [...diff(aspect, 'events', expected.events, found.events), ...differentCopies(expected, found)];
    }
  });
}

function differentEffects(expected: End, found: End): readonly Difference[] {
  const isLeftOpen = Object.values(found.operations).some((operation) => operation.isLeftOpen);
  const operations = Object.fromEntries(
    Object.entries(found.operations).map(([key, operation]) => {
      const planned = expected.operations[key];
      return [key, operation.isLeftOpen && planned !== undefined ? { ...operation, ...doneAs(planned) } : operation];
    }),
  );
  return [
    ...(isLeftOpen ? [] : diff('effects', 'effects', expected.outside, found.outside)),
    ...diff('effects', 'operations', expected.operations, operations),
  ];
}

function doneAs({ status, isLeftOpen }: EndOfOperation): Pick<EndOfOperation, 'status' | 'isLeftOpen'> {
  return { status, isLeftOpen };
}

/** A copy is done, or where its event is: it may find itself told already, and may not fare worse. */
function differentCopies(expected: End, found: End): readonly Difference[] {
  return Object.entries(found.copies).flatMap(([name, copy]) => {
    const original = expected.events[name];
    if (copy === 'done' || copy === original) return [];
    return [{ aspect: 'events' as const, path: `events["${name}" under a new ID]`, expected: original, found: copy }];
  });
}

function diff(aspect: ProofAspect, path: string, expected: unknown, found: unknown): readonly Difference[] {
  if (isDeepStrictEqual(expected, found)) return [];
  if (Array.isArray(expected) && Array.isArray(found)) {
    return indexesOf(expected, found).flatMap((at) => diff(aspect, `${path}[${at}]`, expected[at], found[at]));
  }
  if (isRecord(expected) && isRecord(found)) {
    const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])];
    return names.flatMap((name) => diff(aspect, `${path}${step(name)}`, expected[name], found[name]));
  }
  return [{ aspect, path, expected, found }];
}

function indexesOf(a: readonly unknown[], b: readonly unknown[]): readonly number[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, at) => at);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function step(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `["${name}"]`;
}

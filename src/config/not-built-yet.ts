import { inDocument, type DocumentPath, type Findings, type Problem } from './problem.js';

/** Settings of the format that this version knows and does nothing with yet. */
export interface NotBuiltYet {
  /** Where; `*` stands for any key. */
  readonly path: string;
  /** Which values; a document that spells out the default asks for nothing. */
  readonly asksForIt: (value: unknown) => boolean;
  /** What to say; stands after the path. */
  readonly say: (value: unknown) => string;
  /** Whether the whole configuration is refused, or the setting merely has no effect that could do harm. */
  readonly level: 'refuse' | 'warn';
}

/** Whoever builds one of these deletes its line. */
export const NOT_BUILT_YET: readonly NotBuiltYet[] = [
  noEffect('retention.payload', 'nothing is deleted'),
  noEffect('retention.inbox', 'nothing is deleted'),
];

/** What a document asks for that is not built yet, each by its name. What is malformed asks for nothing. */
export function findNotBuiltYet(
  document: unknown,
  table: readonly NotBuiltYet[],
  isSound: (path: DocumentPath) => boolean,
): Findings {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  for (const { path, asksForIt, say, level } of table) {
    for (const found of lookUp(document, path.split('.'), [])) {
      if (!asksForIt(found.value) || !isSound(found.path)) continue;
      const list = level === 'refuse' ? problems : warnings;
      list.push(inDocument(found.path, say(found.value)));
    }
  }
  return { problems, warnings };
}

function noEffect(path: string, fact: string): NotBuiltYet {
  return { path, asksForIt: () => true, say: () => `has no effect yet: ${fact} by this version`, level: 'warn' };
}

/** Every value at a pattern, with its own path. */
function lookUp(
  value: unknown,
  [step, ...rest]: readonly string[],
  path: DocumentPath,
): { readonly path: DocumentPath; readonly value: unknown }[] {
  if (step === undefined) return [{ path, value }];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value)
    .filter(([key]) => step === '*' || step === key)
    .flatMap(([key, field]) => lookUp(field, rest, [...path, key]));
}

import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type YAMLError,
} from 'yaml';
import { inDocument, onLine, type DocumentPath, type Problem } from './problem.js';
import { shownName } from './shown-name.js';

export interface YamlDocument {
  /** What the text says; `undefined` when it could not be read to the end. */
  readonly document: unknown;
  readonly problems: readonly Problem[];
  readonly lineOf: (path: DocumentPath) => number | undefined;
}

/**
 * Reads YAML 1.2. Keys are texts and unique, times stay texts, tags and merge keys are not taken. The library's own
 * messages quote the text around a fault, which may be a secret, so they are replaced by sentences of ours.
 */
export function readYaml(text: string): YamlDocument {
  const lines = new LineCounter();
  const parsed = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: true,
    logLevel: 'error',
  });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  // Warnings are about tags that nobody knows; the value would be taken without what the tag says.
  const faults = [...parsed.errors, ...parsed.warnings];
  const problems = [
    ...faults.map((fault) => onLine(lineAt(fault.pos[0]), describeFault(fault, text))),
    ...danglingAliases(parsed).map((offset) => onLine(lineAt(offset), DANGLING_ALIAS)),
  ];
  const lineOf = (path: DocumentPath): number | undefined => lineOfPath(parsed, path, lineAt);

  // After a doubled key the rest is still as written; after any other fault it is guesswork, and so would be complaints.
  const isGuesswork = problems.length > faults.length || faults.some(({ code }) => code !== 'DUPLICATE_KEY');
  if (isGuesswork) return { document: undefined, problems, lineOf };
  try {
    return { document: parsed.toJS(), problems, lineOf };
  } catch {
    const tooMuch = inDocument([], 'has aliases that expand without bound');
    return { document: undefined, problems: [...problems, tooMuch], lineOf };
  }
}

const DANGLING_ALIAS = 'has an alias (*name) that nothing defines; a text that begins with * needs quotes';

/** Where aliases without an anchor stand. */
function danglingAliases(parsed: Document.Parsed): number[] {
  const offsets: number[] = [];
  visit(parsed, {
    Alias: (_key, alias) => {
      if (alias.resolve(parsed) === undefined) offsets.push(alias.range?.[0] ?? 0);
    },
  });
  return offsets;
}

function describeFault(fault: YAMLError, text: string): string {
  if (fault.code === 'DUPLICATE_KEY') return `the key ${keyAt(text, fault.pos[0])} is there twice`;
  if (fault.code === 'MULTIPLE_DOCS') return 'must be one document: a second one begins here';
  if (fault.code === 'TAB_AS_INDENT') return 'is indented with a tab: use spaces';
  if (fault.code === 'TAG_RESOLVE_FAILED')
    return 'has a tag (!name), which is not taken; put quotes around a text with !';
  if (lineOfText(text, fault.pos[0]).includes('${')) {
    return 'is not YAML here; a value such as "${NAME}" needs its quotes inside [ ] and { }';
  }
  return 'is not YAML here';
}

function keyAt(text: string, offset: number): string {
  const [key = ''] = /^[^\s:"']*/.exec(text.slice(offset).replace(/^["']/, '')) ?? [];
  return shownName(key);
}

function lineOfText(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  return text.slice(start, end === -1 ? undefined : end);
}

function lineOfPath(
  parsed: Document.Parsed,
  path: DocumentPath,
  lineAt: (offset: number) => number,
): number | undefined {
  let node: unknown = parsed.contents;
  let line: number | undefined;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(parsed);
    const found = childOf(node, step);
    if (found === undefined) return line;
    if (found.offset !== undefined) line = lineAt(found.offset);
    node = found.value;
  }
  return line;
}

/** A child, and where it begins: at its key in a map, at itself in a list. */
function childOf(node: unknown, step: string | number): { value: unknown; offset: number | undefined } | undefined {
  if (isSeq(node) && typeof step === 'number') {
    const value = node.items[step];
    return value === undefined ? undefined : { value, offset: startOf(value) };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
  return pair === undefined ? undefined : { value: pair.value, offset: startOf(pair.key) };
}

function startOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined;
}

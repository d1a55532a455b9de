import { shownName } from './shown-name.js';

/** A path in the configuration document: keys and list positions from the top. */
export type DocumentPath = readonly (string | number)[];

/** Something that is wrong, or that an operator should know, and where. The text never quotes a value. */
export type Problem =
  | { readonly at: 'document'; readonly path: DocumentPath; readonly text: string }
  /** A fault of the file's syntax: there is no path yet. */
  | { readonly at: 'line'; readonly line: number; readonly text: string }
  | { readonly at: 'environment'; readonly variable: string; readonly text: string };

/** What a check found. Warnings have the form of problems and stop nothing. */
export interface Findings {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

export function inDocument(path: DocumentPath, text: string): Problem {
  return { at: 'document', path, text };
}

export function onLine(line: number, text: string): Problem {
  return { at: 'line', line, text };
}

export function inEnvironment(variable: string, text: string): Problem {
  return { at: 'environment', variable, text };
}

export function joinFindings(all: readonly Findings[]): Findings {
  return { problems: all.flatMap(({ problems }) => problems), warnings: all.flatMap(({ warnings }) => warnings) };
}

/** Where a document came from, for the beginning of a problem's line. */
export interface Origin {
  /** The file as people name it; `null` for configuration given in code. */
  readonly label: string | null;
  /** Line of what stands at a path, or of the nearest thing above it, counted from 1. */
  readonly lineOf: (path: DocumentPath) => number | undefined;
}

/** One line each, in the order of the file's lines; what has no line comes last. */
export function formatProblems(problems: readonly Problem[], origin: Origin): string[] {
  const lines = problems.map((problem) => {
    const line = lineOf(problem, origin);
    return { line: line ?? Infinity, text: formatProblem(problem, origin, line) };
  });
  return [...new Set(lines.sort((a, b) => compare(a.line, b.line)).map(({ text }) => text))];
}

function lineOf(problem: Problem, origin: Origin): number | undefined {
  switch (problem.at) {
    case 'document':
      return origin.lineOf(problem.path);
    case 'line':
      return problem.line;
    case 'environment':
      return undefined;
  }
}

/** Two infinities have no difference. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

function formatProblem(problem: Problem, origin: Origin, line: number | undefined): string {
  if (problem.at === 'environment') return `${problem.variable}: ${problem.text}`;
  const place = origin.label === null ? '' : `${origin.label}${line === undefined ? '' : `:${line}`}: `;
  const path = problem.at === 'document' ? formatPath(problem.path) : '';
  return `${place}${path === '' ? '' : `${path}: `}${problem.text}`;
}

/** `sources.stripe.secrets[0]` */
export function formatPath(path: DocumentPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? shownName(step) : `${text}.${shownName(step)}`;
  }, '');
}

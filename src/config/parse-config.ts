import { ConfigError } from '../errors.js';
import { readBlockValues } from './block-values.js';
import { checkBlocks } from './block-rules.js';
import { buildConfig } from './build-config.js';
import { checkDocument } from './check-document.js';
import type { Config } from './config.js';
import type { ConfigDocument } from './document-schema.js';
import { draftOf } from './draft.js';
import { readEnvironment, type Role } from './environment.js';
import { findNotBuiltYet, NOT_BUILT_YET, type NotBuiltYet } from './not-built-yet.js';
import { plainDocument } from './plain-document.js';
import { formatProblems, joinFindings, type Findings, type Origin, type Problem } from './problem.js';
import { readTextFile, type ReadFile } from './read-file.js';
import { checkRole } from './role-rules.js';
import { checkScopes } from './scope-rules.js';
import type { Environment, LiteralRule } from './secret-reference.js';
import { checkSources } from './source-rules.js';
import { readSourceValues } from './source-values.js';
import { findStrayReferences } from './stray-references.js';

export interface ParseOptions {
  /** Where `${NAME}` and the variables of `docs/configuration.md` are looked up; the process's own by default. */
  readonly env?: Environment;
  /** Reads `${file:/path}`; the file system by default. */
  readonly readFile?: ReadFile;
  /** Which rules hold besides the document's own; `tool` by default. */
  readonly role?: Role;
  /** Names of handler sets registered in code, besides the built-in ones. */
  readonly handlerSets?: ReadonlySet<string>;
  /** Kinds of effects registered in code; a built-in kind among them is replaced, and needs nothing of ours. */
  readonly operations?: ReadonlySet<string>;
}

/**
 * Checks a configuration given in code: the shape and the rules of `oncehook.yaml`, except that secrets may also be
 * given as they are, since code has its own places for them.
 * @throws ConfigError with every problem at once; none quotes a value.
 */
export function parseConfig(document: ConfigDocument, options: ParseOptions = {}): Config {
  const origin = { label: null, lineOf: () => undefined };
  return readConfig({ document, file: null, origin, problems: [], literals: 'allowed' }, options);
}

/** A document from wherever it came. */
export interface ConfigInput {
  /** `undefined` when it could not be read, which `problems` then explain. */
  readonly document: unknown;
  /** Path of the file, for the configuration's own record. */
  readonly file: string | null;
  readonly origin: Origin;
  /** What was found wrong before: the file's syntax. */
  readonly problems: readonly Problem[];
  readonly literals: LiteralRule;
  /** See `ValuesOptions`. */
  readonly listVariable?: string;
}

/**
 * Runs every check on whatever is sound enough for it, then refuses with all problems together or builds the
 * configuration. `notBuilt` is a parameter for the tests of the whole format.
 */
export function readConfig(
  input: ConfigInput,
  options: ParseOptions,
  notBuilt: readonly NotBuiltYet[] = NOT_BUILT_YET,
): Config {
  const { env = process.env, readFile = readTextFile, role = 'tool' } = options;
  const { handlerSets = new Set<string>(), operations = new Set<string>() } = options;
  const { origin, literals, listVariable } = input;
  const places = { env, readFile };

  const plain = plainDocument(input.document);
  const shape = checkDocument(plain.document);
  const wasRead = input.document !== undefined || input.problems.length === 0;
  const shapeProblems = wasRead ? withoutEchoes([...plain.problems, ...shape.problems]) : [];
  const draft = draftOf(plain.document, shapeProblems);
  const values = readSourceValues(draft, { role, literals, places, listVariable });
  const blocks = readBlockValues(draft, role, places);
  const { environment, ...environmentFindings } = readEnvironment(env, role);

  const { problems, warnings } = joinFindings([
    { problems: [...shapeProblems, ...findStrayReferences(plain.document)], warnings: [] },
    findNotBuiltYet(plain.document, notBuilt, draft.isSound),
    checkSources(draft, handlerSets, role),
    checkScopes(draft),
    checkBlocks(draft),
    values,
    blocks,
    environmentFindings,
    withoutKnown(checkRole(role, draft, environment, operations), environmentFindings.problems),
  ]);
  const all = [...input.problems, ...problems];
  if (shape.complete === undefined || all.length > 0) throw new ConfigError(formatProblems(all, origin));

  return buildConfig({
    document: shape.complete,
    file: input.file,
    values: values.values,
    merchant: blocks.merchant,
    calendarUrl: blocks.calendarUrl,
    environment,
    warnings: formatProblems(warnings, origin),
  });
}

/** What was not plain data is null in the copy; that null is not a second problem. */
function withoutEchoes(problems: readonly Problem[]): Problem[] {
  return problems.filter(
    (problem, index) =>
      problem.at !== 'document' ||
      !problems.slice(0, index).some((earlier) => earlier.at === 'document' && samePath(earlier.path, problem.path)),
  );
}

function samePath(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((step, index) => step === b[index]);
}

/** A variable that is malformed is not also missing. */
function withoutKnown(findings: Findings, known: readonly Problem[]): Findings {
  const isKnown = (problem: Problem): boolean =>
    problem.at === 'environment' &&
    known.some((other) => other.at === 'environment' && other.variable === problem.variable);
  return { problems: findings.problems.filter((problem) => !isKnown(problem)), warnings: findings.warnings };
}

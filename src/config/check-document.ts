import { z } from 'zod';
import { documentSchema, type CheckedDocument } from './document-schema.js';
import { nearName } from './near-name.js';
import { inDocument, type DocumentPath, type Problem } from './problem.js';

export interface CheckedShape {
  /** `undefined` when anything is wrong with the document's shape. */
  readonly complete: CheckedDocument | undefined;
  readonly problems: readonly Problem[];
}

/** Checks a document's shape as a whole: keys, types, forms. What needs the environment comes after. */
export function checkDocument(document: unknown): CheckedShape {
  const result = documentSchema.safeParse(document, { error: describe });
  if (result.success) return { complete: result.data, problems: [] };
  return { complete: undefined, problems: result.error.issues.flatMap((issue) => problemsOf(issue, document, [])) };
}

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/** Keys that do not exist for a kind, where the reason is worth more than a guess at another key. */
const REASONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  github: {
    tolerance: 'github does not sign a time, so there is nothing to compare',
    rateLimit: 'github never sends again, so a refused delivery would be lost',
    mode: 'only stripe has modes',
  },
  'standard-webhooks': {
    equalBodies: 'the ID is signed, so equal bodies are no question',
    mode: 'only stripe has modes',
  },
  stripe: { equalBodies: 'the ID is signed, so equal bodies are no question' },
  hmac: { mode: 'only stripe has modes' },
};

/**
 * Our own sentence for every issue that a schema has none for. Several unknown keys of one map are one issue: their
 * sentences are joined by line feeds, and `problemsOf` takes them apart.
 */
function describe(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return issue.input === undefined
        ? `is missing; ${oneOf(issue.values)}`
        : describeChoice(issue.input, issue.values);
    case 'unrecognized_keys':
      return issue.keys.map((key) => describeUnknownKey(key, issue)).join('\n');
    case 'invalid_key':
      return issue.issues[0]?.message;
    case 'invalid_union':
      return describeUnion(issue);
    default:
      return 'is not valid here';
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
  object: 'a map of settings',
  record: 'a map',
  array: 'a list',
  boolean: 'true or false',
};

function oneOf(values: readonly unknown[]): string {
  return `must be ${values.length === 1 ? '' : 'one of '}${values.map(String).join(', ')}`;
}

function describeChoice(input: unknown, values: readonly unknown[]): string {
  const near = typeof input === 'string' ? nearName(input, values.map(String)) : undefined;
  return near === undefined ? oneOf(values) : `${oneOf(values)}; did you mean ${near}?`;
}

function describeUnion(issue: Extract<RawIssue, { code: 'invalid_union' }>): string | undefined {
  const options: unknown = 'options' in issue ? issue.options : undefined;
  if (!Array.isArray(options) || issue.discriminator === undefined) return undefined;
  const input: unknown = issue.input;
  const kind = isRecord(input) ? input[issue.discriminator] : undefined;
  return kind === undefined ? `is missing; ${oneOf(options)}` : describeChoice(kind, options);
}

function describeUnknownKey(key: string, issue: Extract<RawIssue, { code: 'unrecognized_keys' }>): string {
  const input: unknown = issue.input;
  const kind = isRecord(input) && typeof input.kind === 'string' ? input.kind : '';
  const reason = REASONS[kind];
  if (reason !== undefined && Object.hasOwn(reason, key)) return `is not for this kind: ${reason[key] ?? ''}`;
  const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
  const near = nearName(key, known);
  return near === undefined ? `unknown key; known here: ${known.join(', ')}` : `unknown key; did you mean ${near}?`;
}

function problemsOf(issue: z.core.$ZodIssue, document: unknown, above: DocumentPath): Problem[] {
  const path = [...above, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
  if (issue.code === 'unrecognized_keys') {
    const sentences = issue.message.split('\n');
    return issue.keys.map((key, index) => inDocument([...path, key], sentences[index] ?? 'unknown key'));
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    return nearestBranch(issue.errors).flatMap((nested) => problemsOf(nested, document, path));
  }
  return [inDocument(path, issue.message)];
}

/** The alternative that the text comes nearest to: the one with the fewest things wrong. */
function nearestBranch(branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] {
  const faults = (branch: readonly z.core.$ZodIssue[]): number =>
    branch.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
  return branches.reduce((nearest, branch) => (faults(branch) < faults(nearest) ? branch : nearest));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

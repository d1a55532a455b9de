import type { Draft, SourceDraft } from './draft.js';
import type { Role } from './environment.js';
import { inDocument, joinFindings, type Findings, type Problem } from './problem.js';
import { parseSecretReferences, resolveSecrets } from './read-secrets.js';
import { NO_API_KEY } from './role-rules.js';
import { Secret } from './secret.js';
import {
  parseReference,
  resolveReference,
  type LiteralRule,
  type SecretPlaces,
  type SecretReference,
} from './secret-reference.js';

/** What one source's references stand for. */
export interface SourceValues {
  readonly references: readonly SecretReference[];
  readonly secrets: readonly Secret[];
  readonly apiKey: Secret | null;
}

export interface ValuesRead extends Findings {
  readonly values: ReadonlyMap<string, SourceValues>;
}

export interface ValuesOptions {
  readonly role: Role;
  readonly literals: LiteralRule;
  readonly places: SecretPlaces;
  /** A variable that holds several secrets with commas, where it is referred to; use without a file. */
  readonly listVariable: string | undefined;
}

/** Reads and judges every source's secrets and API keys. */
export function readSourceValues({ sources }: Draft, options: ValuesOptions): ValuesRead {
  const read = sources.map((source) => readOne(source, options));
  const values = new Map(read.map(({ name, values: of }) => [name, of]));
  const findings = joinFindings(read);
  return { values, problems: findings.problems, warnings: [...findings.warnings, ...sharedSecrets(values)] };
}

function readOne(source: SourceDraft, options: ValuesOptions): Findings & { name: string; values: SourceValues } {
  const path = ['sources', source.name, 'secrets'];
  const form = { kind: source.kind, encoding: source.secretEncoding ?? 'utf8' } as const;
  const parsed = parseSecretReferences(source.secrets ?? [], form, options.literals, path);
  const references = parsed.references.map(({ index, reference }) => ({
    index,
    reference: asList(reference, options.listVariable),
  }));
  const read = resolveSecrets(references, form, options.places, path);
  const key = readApiKey(source, options);
  // A command on an operator's machine has no business with these secrets, and must work without them.
  const optional = options.role === 'tool';
  return {
    name: source.name,
    values: { references: references.map(({ reference }) => reference), secrets: read.secrets, apiKey: key.apiKey },
    problems: [...parsed.problems, ...read.problems, ...(optional ? [] : read.missing), ...key.problems],
    warnings: [...read.warnings, ...(optional ? read.missing : []), ...key.warnings],
  };
}

function asList(reference: SecretReference, listVariable: string | undefined): SecretReference {
  const isList = reference.kind === 'environment' && reference.variable === listVariable;
  return isList ? { kind: 'environment-list', variable: reference.variable } : reference;
}

function readApiKey(source: SourceDraft, options: ValuesOptions): Findings & { readonly apiKey: Secret | null } {
  const path = ['sources', source.name, 'apiKey'];
  const nothing = { apiKey: null, problems: [], warnings: [] };
  if (source.apiKey === undefined) return nothing;
  const parsed = parseReference(source.apiKey, options.literals);
  if ('fault' in parsed) return { ...nothing, problems: [inDocument(path, parsed.fault)] };
  // It could move money, so a process that faces the internet does not even read it.
  if (options.role === 'receiver') return nothing;

  const resolved = resolveReference(parsed.reference, options.places);
  const [first] = resolved.kind === 'texts' ? resolved.texts : [];
  if (resolved.kind === 'missing' || first === undefined || first.text === '') {
    const why = resolved.kind === 'missing' ? resolved.fault : 'it is empty';
    const missing = inDocument(path, `${why}; ${NO_API_KEY}`);
    // A variable may be left unset on purpose. A file that is named and not there is a mistake.
    const isMistake = parsed.reference.kind === 'file' && options.role === 'worker';
    return { ...nothing, [isMistake ? 'problems' : 'warnings']: [missing] };
  }
  // What an Authorization header can carry; the usual fault is a line break from copying.
  if (!/^[\x21-\x7e]+$/.test(first.text)) {
    return { ...nothing, problems: [inDocument(path, `${first.name} has white space or unprintable characters`)] };
  }
  return { ...nothing, apiKey: new Secret(first.text) };
}

/** One secret for two sources: a delivery to one is then genuine for the other, whoever plays it there. */
function sharedSecrets(values: ReadonlyMap<string, SourceValues>): Problem[] {
  const owners = new Map<string, string>();
  const warnings: Problem[] = [];
  for (const [name, { secrets }] of values) {
    for (const text of new Set(secrets.map((secret) => secret.reveal()))) {
      const owner = owners.get(text);
      owners.set(text, owner ?? name);
      if (owner === undefined) continue;
      const what = `has a secret of sources.${owner} too: what is sent to one can be played to the other`;
      warnings.push(inDocument(['sources', name, 'secrets'], what));
    }
  }
  return warnings;
}

import { readFileOrFault, type ReadFile } from './read-file.js';
import { Secret } from './secret.js';
import { shownName } from './shown-name.js';

/** The process's environment, or a part of it; an empty variable counts as unset, except where a secret is read. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where secrets are read from, at start and again at a reload. */
export interface SecretPlaces {
  readonly env: Environment;
  readonly readFile: ReadFile;
}

/** Where a secret stands. Kept beside the secret, so that it can be read again while the process runs. */
export type SecretReference =
  | { readonly kind: 'environment'; readonly variable: string }
  /** Several secrets in one variable, with commas: use without a file only. */
  | { readonly kind: 'environment-list'; readonly variable: string }
  | { readonly kind: 'file'; readonly path: string }
  /** A literal: from code, or a public key. Nothing to read again. */
  | { readonly kind: 'given'; readonly secret: Secret };

/** `refused` for files, which end up in repositories and images; code has its own places for secrets. */
export type LiteralRule = 'refused' | 'allowed';

const VARIABLE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;
const FILE = /^\$\{file:(\/[^}]*)\}$/;

export type ParsedReference = { readonly reference: SecretReference } | { readonly fault: string };

/** Reads `${NAME}`, `${file:/path}` or, where the rule allows it, a literal. */
export function parseReference(text: string, literals: LiteralRule): ParsedReference {
  const [, variable] = VARIABLE.exec(text) ?? [];
  if (variable !== undefined) return { reference: { kind: 'environment', variable } };
  const [, path] = FILE.exec(text) ?? [];
  if (path !== undefined) return { reference: { kind: 'file', path } };
  // Near the form and not of it: a mistake also where literals are allowed, since no secret begins like this.
  if (text.startsWith('${')) return { fault: 'must be "${NAME}" or "${file:/absolute/path}" and nothing else' };
  if (literals === 'allowed') return { reference: { kind: 'given', secret: new Secret(text) } };
  return { fault: 'is a literal; write "${NAME}" (environment) or "${file:/path}"' };
}

/** What stands at a reference: one text, for a list variable several. */
export type ResolvedReference =
  | { readonly kind: 'texts'; readonly texts: readonly { readonly text: string; readonly name: string }[] }
  /** Nothing is there; `fault` says what to do about it. */
  | { readonly kind: 'missing'; readonly fault: string };

/** Reads what a reference stands for. `name` says it in a problem's words, without the value. */
export function resolveReference(reference: SecretReference, places: SecretPlaces): ResolvedReference {
  switch (reference.kind) {
    case 'given':
      return { kind: 'texts', texts: [{ text: reference.secret.reveal(), name: 'the value' }] };
    case 'environment':
      return fromVariable(reference.variable, places.env, (text) => [text]);
    case 'environment-list':
      return fromVariable(reference.variable, places.env, (text) => text.split(','));
    case 'file':
      return fromFile(reference.path, places.readFile);
  }
}

function fromVariable(
  variable: string,
  env: Environment,
  split: (text: string) => readonly string[],
): ResolvedReference {
  const name = shownName(variable);
  const text = Object.hasOwn(env, variable) ? env[variable] : undefined;
  if (text === undefined) return { kind: 'missing', fault: `the environment variable ${name} is not set` };
  if (text === '') return { kind: 'missing', fault: `the environment variable ${name} is empty` };
  const parts = split(text);
  return {
    kind: 'texts',
    texts: parts.map((part, index) => ({
      text: part,
      name: parts.length === 1 ? name : `${name}, entry ${index + 1},`,
    })),
  };
}

function fromFile(path: string, readFile: ReadFile): ResolvedReference {
  const read = readFileOrFault(path, readFile);
  if (read.kind !== 'text') return { kind: 'missing', fault: `the file ${path} ${read.fault}` };
  // Editors and `echo` end a file with a line feed, which is the file's and not the secret's. One, not several.
  return { kind: 'texts', texts: [{ text: read.text.replace(/\r?\n$/, ''), name: `the file ${path}` }] };
}

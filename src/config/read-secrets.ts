import { ConfigError } from '../errors.js';
import type { SourceConfig } from './config.js';
import { formatPath, inDocument, type DocumentPath, type Findings, type Problem } from './problem.js';
import { Secret } from './secret.js';
import {
  parseReference,
  resolveReference,
  type LiteralRule,
  type SecretPlaces,
  type SecretReference,
} from './secret-reference.js';
import { judgeSecret, type SecretEncoding } from './secret-rules.js';
import type { SourceKind } from './source-schemas.js';

/** How a kind's secrets are judged. */
export interface SecretForm {
  readonly kind: SourceKind;
  /** Counts for `hmac` only. */
  readonly encoding: SecretEncoding;
}

/** A reference and its position in the list, which is how problems name it. */
export interface ListedReference {
  readonly index: number;
  readonly reference: SecretReference;
}

export interface ReferencesRead {
  readonly references: readonly ListedReference[];
  readonly problems: readonly Problem[];
}

export interface SecretsRead extends Findings {
  readonly secrets: readonly Secret[];
  /** Variables and files that are not there; a problem where something is verified, else not. */
  readonly missing: readonly Problem[];
}

/** Parses the texts under `secrets`. A public key is no secret, so it may be written out everywhere. */
export function parseSecretReferences(
  texts: readonly string[],
  form: SecretForm,
  literals: LiteralRule,
  path: DocumentPath,
): ReferencesRead {
  const references: ListedReference[] = [];
  const problems: Problem[] = [];
  texts.forEach((text, index) => {
    const isPublicKey = form.kind === 'standard-webhooks' && text.startsWith('whpk_');
    const parsed = parseReference(text, isPublicKey ? 'allowed' : literals);
    if ('fault' in parsed) problems.push(inDocument([...path, index], parsed.fault));
    else references.push({ index, reference: parsed.reference });
  });
  return { references, problems };
}

/** Reads and judges what the references of one source stand for. Nothing it says quotes a secret. */
export function resolveSecrets(
  references: readonly ListedReference[],
  form: SecretForm,
  places: SecretPlaces,
  path: DocumentPath,
): SecretsRead {
  const secrets: Secret[] = [];
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const missing: Problem[] = [];
  for (const { index, reference } of references) {
    const at = [...path, index];
    const resolved = resolveReference(reference, places);
    if (resolved.kind === 'missing') {
      missing.push(inDocument(at, resolved.fault));
      continue;
    }
    for (const { text, name } of resolved.texts) {
      const verdict = judgeSecret(text, form.kind, form.encoding);
      if (verdict.kind === 'bad') problems.push(inDocument(at, `${name} ${verdict.text}`));
      if (verdict.kind === 'weak') warnings.push(inDocument(at, `${name} ${verdict.text}`));
      if (secrets.some((other) => other.reveal() === text)) {
        warnings.push(inDocument(at, `${name} is the same secret as one before it`));
      }
      secrets.push(new Secret(text));
    }
  }
  return { secrets, problems, warnings, missing };
}

/**
 * Reads a source's secrets again from where they stand, for `source.secrets.replace(...)`: a reload must refuse
 * whatever a start refuses, and leave what is in force alone.
 * @throws ConfigError with every problem at once.
 */
export function readSecrets(source: SourceConfig, places: SecretPlaces): readonly Secret[] {
  const form = { kind: source.kind, encoding: source.kind === 'hmac' ? source.secretEncoding : 'utf8' } as const;
  const listed = source.secretReferences.map((reference, index) => ({ index, reference }));
  const read = resolveSecrets(listed, form, places, ['sources', source.name, 'secrets']);
  const problems = [...read.problems, ...read.missing];
  if (problems.length === 0) return read.secrets;
  throw new ConfigError(
    problems.map((problem) => `${formatPath(problem.at === 'document' ? problem.path : [])}: ${problem.text}`),
  );
}

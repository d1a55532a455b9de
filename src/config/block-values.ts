import type { Draft } from './draft.js';
import type { Role } from './environment.js';
import { isAddress } from './mailbox.js';
import { inDocument, type DocumentPath, type Findings } from './problem.js';
import { Secret } from './secret.js';
import { parseReference, resolveReference, type SecretPlaces } from './secret-reference.js';

export interface BlockValues extends Findings {
  readonly merchant: string | null;
  readonly calendarUrl: Secret | null;
}

/** Reads the two settings outside of sources that may stand in the environment. Only a worker uses them. */
export function readBlockValues(draft: Draft, role: Role, places: SecretPlaces): BlockValues {
  const read = (text: string | undefined, path: DocumentPath, fault: (value: string) => string | undefined) =>
    readText(text, { path, role, places, fault });
  const merchant = read(draft.email.merchant, ['email', 'merchant'], merchantFault);
  const calendar = read(draft.calendarUrl, ['calendar', 'url'], calendarFault);
  return {
    merchant: merchant.value,
    calendarUrl: calendar.value === null ? null : new Secret(calendar.value),
    problems: [...merchant.problems, ...calendar.problems],
    warnings: [...merchant.warnings, ...calendar.warnings],
  };
}

interface TextOptions {
  readonly path: DocumentPath;
  readonly role: Role;
  readonly places: SecretPlaces;
  readonly fault: (value: string) => string | undefined;
}

interface TextRead extends Findings {
  readonly value: string | null;
}

function readText(text: string | undefined, { path, role, places, fault }: TextOptions): TextRead {
  const nothing = { value: null, problems: [], warnings: [] };
  if (text === undefined) return nothing;
  const parsed = parseReference(text, 'allowed');
  if ('fault' in parsed) return { ...nothing, problems: [inDocument(path, parsed.fault)] };
  // Another process's variables need not be here.
  if (role === 'receiver' && parsed.reference.kind !== 'given') return nothing;

  const resolved = resolveReference(parsed.reference, places);
  if (resolved.kind === 'missing') {
    return { ...nothing, [role === 'worker' ? 'problems' : 'warnings']: [inDocument(path, resolved.fault)] };
  }
  const [first] = resolved.texts;
  if (first === undefined) return nothing;
  const wrong = fault(first.text);
  return wrong === undefined
    ? { ...nothing, value: first.text }
    : { ...nothing, problems: [inDocument(path, `${first.name} ${wrong}`)] };
}

function merchantFault(value: string): string | undefined {
  return isAddress(value) ? undefined : 'must be one mail address, such as owner@example.com';
}

function calendarFault(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url !== undefined && ['http:', 'https:'].includes(url.protocol) ? undefined : 'must be an http or https URL';
}

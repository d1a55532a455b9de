import { DEFAULTS } from './defaults.js';
import type { Draft, SourceDraft } from './draft.js';
import { inDocument, type Findings, type Problem } from './problem.js';
import { accountOf, handlersOf } from './source-defaults.js';

/**
 * What must hold between two sources that can store into one scope. That is legal: one Stripe account may have several
 * endpoints, and one sender two. But an event that both receive is one row, judged by whichever delivery came first,
 * so where it matters both must judge alike.
 */
export function checkScopes(draft: Draft): Findings {
  const sources = draft.sources.filter(({ name }) => SCOPING.every((field) => draft.isSound(['sources', name, field])));
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  sources.forEach((source, index) => {
    for (const earlier of sources.slice(0, index)) {
      const shared = sharedAccounts(earlier, source);
      if (shared.length === 0) continue;
      problems.push(...conflicts(earlier, source, shared));
      warnings.push(...doubts(earlier, source));
    }
  });
  return { problems, warnings };
}

/** The fields that say which scopes a source can write, and for whom. */
const SCOPING = ['account', 'accounts', 'mode', 'tenant'];

function conflicts(earlier: SourceDraft, source: SourceDraft, shared: readonly string[]): Problem[] {
  if (source.kind === 'github') {
    const text = `is also the account of sources.${earlier.name}; GitHub gives one delivery ID to several hooks, so each source needs its own`;
    return [inDocument(['sources', source.name, 'account'], text)];
  }
  const [here, there] = [tenantsOf(source), tenantsOf(earlier)];
  return shared
    .filter((account) => here.get(account) !== there.get(account))
    .map((account) => {
      const isOwn = account === accountOf(source);
      const path = ['sources', source.name, ...(isOwn ? ['tenant'] : ['accounts', account])];
      return inDocument(path, `sources.${earlier.name} gives the same account another tenant`);
    });
}

function doubts(earlier: SourceDraft, source: SourceDraft): Problem[] {
  const warnings: Problem[] = [];
  const differing = JUDGING.filter(([, read]) => read(source) !== read(earlier)).map(([name]) => name);
  if (differing.length > 0) {
    const text = `shares a scope with sources.${earlier.name} and differs in ${differing.join(', ')}: an event that is sent to both is judged by the delivery that comes first`;
    warnings.push(inDocument(['sources', source.name], text));
  }
  if (source.kind === 'stripe' && source.account === undefined && earlier.account === undefined) {
    const text = `counts as the same Stripe account as sources.${earlier.name}, since neither names its account`;
    warnings.push(inDocument(['sources', source.name], text));
  }
  return warnings;
}

/** The fields that decide what becomes of an event. */
const JUDGING: readonly (readonly [name: string, read: (source: SourceDraft) => unknown])[] = [
  ['handlers', handlersOf],
  ['ignore', ({ ignore }) => JSON.stringify([...(ignore ?? [])].sort())],
  ['activeFrom', ({ activeFrom }) => activeFrom?.getTime()],
  ['shadow', ({ shadow }) => shadow ?? false],
];

/** Accounts whose scopes both can write: of one kind, and for Stripe of a mode that both take. */
function sharedAccounts(a: SourceDraft, b: SourceDraft): string[] {
  if (a.kind !== b.kind || !modesMeet(a.mode ?? 'any', b.mode ?? 'any')) return [];
  const others = tenantsOf(b);
  return [...tenantsOf(a).keys()].filter((account) => others.has(account));
}

function modesMeet(a: string, b: string): boolean {
  return a === b || a === 'any' || b === 'any';
}

function tenantsOf(source: SourceDraft): ReadonlyMap<string, string> {
  return new Map([
    ...Object.entries(source.accounts ?? {}),
    [accountOf(source), source.tenant ?? DEFAULTS.source.tenant],
  ]);
}

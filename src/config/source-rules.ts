import { DEFAULTS, defaultMs } from './defaults.js';
import type { Draft, SourceDraft } from './draft.js';
import { formatDuration } from './duration.js';
import { nearName } from './near-name.js';
import { inDocument, joinFindings, type DocumentPath, type Findings, type Problem } from './problem.js';
import type { Role } from './environment.js';
import { accountOf, maxBodyBytesOf, signedTemplateOf, signsId } from './source-defaults.js';

/** The sets that come with oncehook, built or not: their names cannot be taken by others. */
export const BUILT_IN_HANDLER_SETS = ['orders', 'ledger', 'calendar', 'none'] as const;

/** A tolerance above this is legal and rarely meant: a captured delivery can be played again for as long. */
const LONG_TOLERANCE_MS = 3_600_000;

/** What must hold between the fields of one source. `handlerSets` are the names registered in code. */
export function checkSources(draft: Draft, handlerSets: ReadonlySet<string>, role: Role): Findings {
  return joinFindings(draft.sources.map((source) => checkSource(source, draft, handlerSets, role)));
}

function checkSource(source: SourceDraft, draft: Draft, handlerSets: ReadonlySet<string>, role: Role): Findings {
  const at: At = (...path) => ['sources', source.name, ...path];
  const handlers = checkHandlers(source, at, handlerSets, role);
  return {
    problems: [
      ...handlers.problems,
      ...bodyProblems(source, at, draft),
      ...accountProblems(source, at),
      ...(source.kind === 'hmac' ? hmacProblems(source, at) : []),
    ],
    warnings: [...handlers.warnings, ...toleranceWarnings(source, at)],
  };
}

type At = (...path: DocumentPath) => DocumentPath;

/** Only a worker runs handlers; a receiver or a command may be beside an application that has the set in its code. */
function checkHandlers({ handlers }: SourceDraft, at: At, handlerSets: ReadonlySet<string>, role: Role): Findings {
  const known = [...BUILT_IN_HANDLER_SETS, ...handlerSets];
  if (handlers === undefined || known.includes(handlers)) return { problems: [], warnings: [] };
  const say = (text: string): Problem[] => [inDocument(at('handlers'), text)];
  const near = nearName(handlers, known);
  if (near !== undefined) {
    return { problems: say(`there is no handler set of this name; did you mean ${near}?`), warnings: [] };
  }
  if (role !== 'worker') {
    return { problems: [], warnings: say('is no built-in handler set: the worker must be given it in code') };
  }
  return { problems: say(`there is no handler set of this name; known: ${known.join(', ')}`), warnings: [] };
}

function bodyProblems(source: SourceDraft, at: At, draft: Draft): Problem[] {
  if (!draft.isSound(['maxBodyMemory']) || !draft.isSound(at('maxBodyBytes'))) return [];
  const maxBodyMemory = draft.maxBodyMemory ?? DEFAULTS.maxBodyMemory;
  const bytes = maxBodyBytesOf(source);
  if (bytes <= maxBodyMemory) return [];
  return [
    inDocument(at('maxBodyBytes'), `one body of ${bytes} bytes does not fit in maxBodyMemory (${maxBodyMemory} bytes)`),
  ];
}

function accountProblems(source: SourceDraft, at: At): Problem[] {
  const account = accountOf(source);
  const own = source.accounts !== undefined && Object.hasOwn(source.accounts, account);
  if (!own || source.accounts?.[account] === (source.tenant ?? DEFAULTS.source.tenant)) return [];
  return [inDocument(at('accounts', account), "is the source's own account, whose tenant is the source's")];
}

function toleranceWarnings({ tolerance }: SourceDraft, at: At): Problem[] {
  if (tolerance === undefined || tolerance <= LONG_TOLERANCE_MS) return [];
  const usual = formatDuration(defaultMs(DEFAULTS.source.tolerance));
  return [inDocument(at('tolerance'), `lets a captured delivery be played again for as long; the usual is ${usual}`)];
}

function hmacProblems(source: SourceDraft, at: At): Problem[] {
  const problems: Problem[] = [];
  const add = (path: DocumentPath, text: string): number => problems.push(inDocument(at(...path), text));

  if (source.signature !== undefined) {
    const template = signedTemplateOf(source);
    const { timestamp, fields } = source.signature;
    const signsTime = template.includes('{timestamp}');
    const hasTime = timestamp !== undefined || fields?.timestamp !== undefined;
    if (signsTime && !hasTime) {
      add(
        ['signature', 'signed'],
        'has {timestamp}, but neither signature.timestamp nor signature.fields.timestamp says where it is',
      );
    }
    if (!signsTime && hasTime) {
      add(['signature', 'signed'], 'lacks {timestamp}: a time that is not signed protects nothing');
    }
    if (timestamp !== undefined && fields?.timestamp !== undefined) {
      add(['signature', 'fields', 'timestamp'], 'is a second place for the time beside signature.timestamp');
    }
    if (!signsTime && source.tolerance !== undefined) {
      add(['tolerance'], 'needs a signed time: signature.signed has no {timestamp}');
    }
    if (template.includes('{id}') && source.eventId !== undefined && !('header' in source.eventId)) {
      add(['signature', 'signed'], 'has {id}, which is the ID in a header, but eventId is not { header: ... }');
    }
  }
  if (source.equalBodies !== undefined && source.eventId !== undefined && signsId(source)) {
    add(['equalBodies'], 'has no effect: the signature covers the ID');
  }
  return problems;
}

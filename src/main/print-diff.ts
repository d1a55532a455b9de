import type { DecisionDiff, DiffEvent, DiffPair, Verdict } from '../admin/compare-decisions.js';
import { printColumns } from './print-document.js';

const VERDICTS: Readonly<Record<Verdict, string>> = {
  agree: 'agree',
  differ: 'differ',
  only_shadow: 'only in shadow',
  only_application: 'only in the application',
  undecided: 'not decided yet',
};

export function printDiff(diff: DecisionDiff): void {
  const { view, source, since, until, counts, pairs, events, more } = diff;
  const of = source === null ? '' : `, source ${source}`;
  const from = since === null ? '' : ` from ${since.toISOString()}`;
  process.stdout.write(`${view}${of}: events received${from} to ${until.toISOString()}\n\n`);
  if (pairs.length === 0) {
    process.stdout.write('nothing to compare: no decision of shadow mode and no row of the view\n');
    return;
  }
  printColumns(Object.entries(VERDICTS).map(([verdict, words]) => [words, String(counts[verdict as Verdict])]));
  process.stdout.write('\n');
  printColumns([
    ['EVENTS', 'SHADOW', 'APPLICATION', 'VERDICT'],
    ...pairs.map((pair) => [String(pair.events), shadowOf(pair), pair.application ?? '-', VERDICTS[pair.verdict]]),
  ]);
  if (events.length === 0) return;
  process.stdout.write('\n');
  printColumns([['RECEIVED', 'SCOPE', 'EVENT', 'TYPE', 'SHADOW', 'APPLICATION'], ...events.map(row)]);
  if (more) process.stdout.write('there are more: raise --limit or narrow --since\n');
}

function row(event: DiffEvent): string[] {
  const { receivedAt, scope, eventId, eventType, application } = event;
  return [
    receivedAt === null ? 'never' : new Date(receivedAt).toISOString(),
    scope ?? '-',
    eventId,
    eventType ?? '-',
    withEffects(shadowOf(event), event.shadowEffects),
    withEffects(application ?? '-', event.applicationEffects),
  ];
}

function shadowOf({ shadow, reason }: Pick<DiffPair, 'shadow' | 'reason'>): string {
  if (shadow === null) return '-';
  return reason === null ? shadow : `${shadow}/${reason}`;
}

function withEffects(said: string, effects: readonly string[] | null): string {
  return effects === null || effects.length === 0 ? said : `${said} [${effects.join(', ')}]`;
}

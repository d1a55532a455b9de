import type { EventDetails, EventListing, EventShadowDecision } from '../admin/find-events.js';
import { printColumns } from './print-document.js';

export function printEvents(events: readonly EventListing[], more: boolean): void {
  if (events.length === 0) {
    process.stdout.write('no events\n');
    return;
  }
  const rows = events.map((event) => [
    event.receivedAt.toISOString(),
    event.scope,
    event.eventId,
    event.eventType,
    standing(event),
    String(event.attempts),
  ]);
  printColumns([['RECEIVED', 'SCOPE', 'EVENT', 'TYPE', 'STATUS', 'ATTEMPTS'], ...rows]);
  if (more) process.stdout.write('there are more: raise --limit or narrow the filters\n');
}

export function printEvent(event: EventDetails): void {
  printColumns([
    ['scope', event.scope],
    ['event', event.eventId],
    ['type', event.eventType],
    ['source', event.source],
    ['status', standing(event)],
    ['received', event.receivedAt.toISOString()],
    ['request ID', event.requestId],
    ['dispatched', event.dispatchedAt?.toISOString() ?? 'not yet'],
    ['completed', event.completedAt?.toISOString() ?? 'not yet'],
    ['next attempt', event.status === 'pending' ? event.nextAttemptAt.toISOString() : '-'],
    ['handler runs', String(event.attempts)],
    ['last error', event.lastError ?? '-'],
    ['redeliveries', String(event.redeliveries)],
    ...event.operations.map(({ operationKey, status, attempts, lastError }) => [
      'operation',
      `${operationKey}  ${status} after ${attempts} attempts${lastError === null ? '' : ` (${lastError})`}`,
    ]),
    ...(event.shadow === null ? [] : shadowRows(event.shadow)),
    ...event.actions.map(({ requestedAt, action, requestedBy, reason, result }) => [
      'action',
      `${requestedAt}  ${action} by ${requestedBy ?? 'nobody named'}: ${reason ?? 'no reason'} -> ${result}`,
    ]),
  ]);
}

/** Parameters may hold personal data: `--json` shows them. */
function shadowRows({
  decidedAt,
  outcome,
  reason,
  order,
  operations,
  attempts,
  defect,
}: EventShadowDecision): string[][] {
  const said = [outcome, reason].filter((part) => part !== null).join('/');
  return [
    ['shadow decision', `${said} after ${attempts} handler runs, ${decidedAt}`],
    ...(order === null ? [] : [['shadow order', order]]),
    ...operations.map(({ key, status }) => ['shadow effect', `${key}  would be ${status}`]),
    ...(defect === null ? [] : [['shadow defect', defect]]),
  ];
}

function standing({ status, outcome, reason }: EventListing): string {
  return [status, outcome, reason].filter((part) => part !== null).join('/');
}

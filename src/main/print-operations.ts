import type { OperationDetails, OperationListing, PauseListing } from '../admin/find-operations.js';
import { formatMinor } from '../domain/money.js';
import { printColumns } from './print-document.js';

export function printOperations(
  operations: readonly OperationListing[],
  pauses: readonly PauseListing[],
  more: boolean,
): void {
  for (const { kind, tenant, scope, requestedBy, reason, pausedAt } of pauses) {
    process.stdout.write(
      `paused since ${pausedAt} by ${requestedBy} (${reason}): kind ${kind}, tenant ${tenant}, scope ${scope}\n`,
    );
  }
  if (operations.length === 0) {
    process.stdout.write('no operations\n');
    return;
  }
  const rows = operations.map((operation) => [
    operation.createdAt.toISOString(),
    operation.operationKey,
    operation.tenant,
    operation.order ?? '-',
    amountOf(operation),
    standing(operation),
    String(operation.attempts),
  ]);
  printColumns([['CREATED', 'OPERATION', 'TENANT', 'ORDER', 'AMOUNT', 'STATUS', 'ATTEMPTS'], ...rows]);
  if (more) process.stdout.write('there are more: raise --limit or narrow the filters\n');
}

export function printOperation(operation: OperationDetails): void {
  printColumns([
    ['operation', operation.operationKey],
    ['kind', operation.kind],
    ['tenant', operation.tenant],
    ['order', operation.order ?? '-'],
    ['amount', amountOf(operation)],
    ['status', standing(operation)],
    ['reference', operation.providerReference ?? operation.messageId ?? '-'],
    ['key', operation.idempotencyKey],
    ['attempts', `${operation.attempts}, of which ${operation.lostAnswers} without an answer`],
    ['planned', operation.createdAt.toISOString()],
    ['approved', operation.approvedAt?.toISOString() ?? '-'],
    ['first sent', operation.firstSentAt?.toISOString() ?? 'never'],
    ['last sent', operation.lastSentAt?.toISOString() ?? 'never'],
    ['settled', operation.settledAt?.toISOString() ?? 'not yet'],
    ['called for by', operation.eventId === null ? 'the application' : `${operation.eventId} of ${operation.scope}`],
    ['parameters', JSON.stringify(operation.params)],
    ...operation.pauses.map(({ kind, tenant, scope, requestedBy, reason }) => [
      'paused',
      `kind ${kind}, tenant ${tenant}, scope ${scope}, by ${requestedBy}: ${reason}`,
    ]),
    ...operation.actions.map(({ requestedAt, action, requestedBy, reason, result }) => [
      'action',
      `${requestedAt}  ${action} by ${requestedBy ?? 'nobody named'}: ${reason ?? 'no reason'} -> ${result}`,
    ]),
  ]);
}

function standing({ status, reason, paused }: OperationListing): string {
  const isOpen = status === 'planned' || status === 'unknown';
  return [status, reason, isOpen && paused ? 'paused' : null].filter((part) => part !== null).join('/');
}

function amountOf({ amountMinor, currency }: Pick<OperationListing, 'amountMinor' | 'currency'>): string {
  if (amountMinor === null || !/^\d{1,30}$/.test(amountMinor)) return '-';
  return currency === null ? amountMinor : formatMinor(BigInt(amountMinor), currency);
}

import type { OrderDetails, OrderListing } from '../admin/orders.js';
import { formatMinor } from '../domain/money.js';
import { printColumns } from './print-document.js';

export function printOrders(orders: readonly OrderListing[], more: boolean): void {
  if (orders.length === 0) {
    process.stdout.write('no orders\n');
    return;
  }
  const rows = orders.map((order) => [
    order.createdAt.toISOString(),
    order.tenant,
    order.id,
    money(order.totalMinor, order),
    money(order.capturedMinor, order),
    money(order.refundedMinor, order),
    standing(order),
  ]);
  printColumns([['REGISTERED', 'TENANT', 'ORDER', 'TOTAL', 'CAPTURED', 'REFUNDED', 'STATUS'], ...rows]);
  if (more) process.stdout.write('there are more: raise --limit or narrow the filters\n');
}

export function printOrder(order: OrderDetails): void {
  printColumns([
    ['order', order.id],
    ['tenant', order.tenant],
    ['status', standing(order)],
    ['total', money(order.totalMinor, order)],
    ['captured', money(order.capturedMinor, order)],
    ['refunded', money(order.refundedMinor, order)],
    ['payment', order.paymentId ?? 'none bound'],
    ['registered', order.createdAt.toISOString()],
    ['paid', order.paidAt?.toISOString() ?? 'not yet'],
    ...order.payments.map((payment) => [
      'payment',
      `${payment.paymentId}  ${payment.role}, ${payment.providerStatus}, ${money(payment.capturedMinor, payment)} captured`,
    ]),
    ...order.operations.map(({ operationKey, status, reason, amountMinor, providerReference }) => [
      'operation',
      [
        operationKey,
        [status, reason].filter((part) => part !== null).join('/'),
        ...(amountMinor === null ? [] : [money(amountMinor, order)]),
        ...(providerReference === null ? [] : [providerReference]),
      ].join('  '),
    ]),
  ]);
}

function standing({ status, disputeState, holdReason }: OrderListing): string {
  return [
    status,
    ...(disputeState === 'none' ? [] : [`dispute ${disputeState}`]),
    ...(holdReason === null ? [] : [`held: ${holdReason}`]),
  ].join(', ');
}

function money(amountMinor: string, { currency }: { readonly currency: string }): string {
  return /^\d{1,30}$/.test(amountMinor) ? formatMinor(BigInt(amountMinor), currency) : amountMinor;
}

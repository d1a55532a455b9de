import type { OrderCase } from './order-case.js';

export type LedgerEntryKind = 'payment' | 'refund' | 'refund_reversal' | 'dispute';

/** One movement of money, never changed once written. Positive is money in, negative is money out, in minor units. */
export interface LedgerEntry {
  /** The business fact; equal for every event that tells it. Unique within the payment's scope. */
  readonly key: string;
  readonly kind: LedgerEntryKind;
  readonly paymentId: string;
  readonly amountMinor: number;
  readonly currency: string;
}

/** The entries that an order's rows stand for. They only ever grow, so what is new is what is not stored yet. */
export function ledgerOf({ payments, refunds, disputes }: OrderCase): readonly LedgerEntry[] {
  return [
    ...payments
      .filter(({ capturedMinor }) => capturedMinor > 0)
      .map(({ paymentId, capturedMinor: amountMinor, currency }) =>
        entry('payment', paymentId, { paymentId, amountMinor, currency }),
      ),
    ...refunds
      .filter(({ everSucceeded }) => everSucceeded)
      .flatMap(({ refundId, paymentId, amountMinor, currency, status }) => [
        entry('refund', refundId, { paymentId, amountMinor: -amountMinor, currency }),
        ...(status === 'succeeded' ? [] : [entry('refund_reversal', refundId, { paymentId, amountMinor, currency })]),
      ]),
    ...disputes.flatMap(({ paymentId, movements }) =>
      movements.map(({ transactionId, amountMinor, currency }) =>
        entry('dispute', transactionId, { paymentId, amountMinor, currency }),
      ),
    ),
  ];
}

function entry(
  kind: LedgerEntryKind,
  id: string,
  fields: Pick<LedgerEntry, 'paymentId' | 'amountMinor' | 'currency'>,
): LedgerEntry {
  return { key: `${kind}:${id}`, kind, ...fields };
}

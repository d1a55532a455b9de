import type { OperationRow } from './read-operation.js';

/** What configuration says of a kind: made by the run itself, after an operator's approval, or not at all. */
export type EffectMode = 'auto' | 'propose' | 'off';

/** How far a kind's operations go without an operator. */
export interface Brake {
  readonly mode: EffectMode;
  /** A larger one waits for approval; in the smallest unit of its currency, `null` for no cap. */
  readonly maxAmountMinor: number | null;
  /** How many may have their first send within an hour, over all tenants; `null` for no cap. */
  readonly perHour: number | null;
}

/** Of a kind that configuration does not speak of. */
export const NO_BRAKE: Brake = { mode: 'auto', maxAmountMinor: null, perHour: null };

/** The kind's mode is `propose`. */
export const NEEDS_APPROVAL = 'needs_approval';

/** The cap per hour is reached; see `beginAttempt`, which counts. */
export const HOURLY_CAP = 'hourly_cap';

/**
 * Why an operation has to wait for an operator before it is sent, as a code; `null` when it need not. Approval exempts
 * it, and what may have happened already is past every brake but a pause. Pure.
 */
export function heldBack(
  row: Pick<OperationRow, 'status' | 'lostAnswers' | 'approved'>,
  { mode, maxAmountMinor }: Brake,
  amountMinor: bigint | null,
): string | null {
  if (row.approved || row.status !== 'planned' || row.lostAnswers > 0) return null;
  if (mode === 'propose') return NEEDS_APPROVAL;
  if (maxAmountMinor === null) return null;
  if (amountMinor === null) return 'amount_unknown';
  return amountMinor > BigInt(maxAmountMinor) ? 'amount_cap' : null;
}

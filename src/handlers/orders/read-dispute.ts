import { z } from 'zod';
import type { DisputeFact } from '../../domain/orders/facts.js';
import { DISPUTE_STATUSES, type DisputeMovement } from '../../domain/orders/order-case.js';
import { amount, currency, linkedId, movedAmount, objectId } from './fields.js';

/** A Dispute as far as orders read it (Stripe API, object dispute). Its amount may differ from the payment's. */
const disputeObject = z.object({
  id: objectId,
  object: z.literal('dispute'),
  amount,
  currency,
  status: z.enum(DISPUTE_STATUSES),
  payment_intent: linkedId,
  charge: linkedId,
  balance_transactions: z.array(z.object({ id: objectId, amount: movedAmount, currency })).nullish(),
});

export function readDispute(object: unknown): DisputeFact | null {
  const parsed = disputeObject.safeParse(object);
  if (!parsed.success) return null;
  const dispute = parsed.data;
  return {
    kind: 'dispute',
    disputeId: dispute.id,
    paymentId: dispute.payment_intent,
    chargeId: dispute.charge,
    amountMinor: dispute.amount,
    currency: dispute.currency,
    status: dispute.status,
    movements: movementsOf(dispute.balance_transactions ?? []),
  };
}

/** One entry per transaction, also where an object lists it twice. */
function movementsOf(
  transactions: readonly { readonly id: string; readonly amount: number; readonly currency: string }[],
): readonly DisputeMovement[] {
  const byId = new Map(
    transactions.map(({ id, amount: amountMinor, currency: code }) => [
      id,
      { transactionId: id, amountMinor, currency: code },
    ]),
  );
  return [...byId.values()];
}

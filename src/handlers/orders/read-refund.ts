import { z } from 'zod';
import type { RefundedChargeFact, RefundFact } from '../../domain/orders/facts.js';
import { amount, currency, linkedId, metadata, objectId } from './fields.js';

/** A Refund as far as orders read it (Stripe API, object refund). Metadata of payments is not copied to it. */
const refundObject = z.object({
  id: objectId,
  object: z.literal('refund'),
  amount,
  currency,
  status: z.enum(['pending', 'requires_action', 'succeeded', 'failed', 'canceled']),
  reason: z.string().nullish(),
  payment_intent: linkedId,
  charge: linkedId,
  metadata,
});

/** Every refund of ours carries the idempotency key of its operation, without the generation. */
const OPERATION_ID = /^oncehook:[0-9a-f]{40}$/;
const IDEMPOTENCY_KEY = /^(oncehook:[0-9a-f]{40}):[0-9]+$/;

/** @returns `null` when it cannot be read. `requestKey` is the idempotency key of the request that made it, if known. */
export function readRefund(object: unknown, requestKey: string | null = null): RefundFact | null {
  const parsed = refundObject.safeParse(object);
  if (!parsed.success) return null;
  const refund = parsed.data;
  return {
    kind: 'refund',
    refundId: refund.id,
    paymentId: refund.payment_intent,
    chargeId: refund.charge,
    amountMinor: refund.amount,
    currency: refund.currency,
    status: refund.status,
    isExpiredHold: refund.reason === 'expired_uncaptured_charge',
    operationId: operationIdIn(refund.metadata?.operation_id) ?? IDEMPOTENCY_KEY.exec(requestKey ?? '')?.[1] ?? null,
  };
}

const refundList = z.object({ object: z.literal('list'), data: z.array(z.unknown()) });

/** A whole list of refunds, as the fetch of `refunds_of_payment` gives it; `null` when one of them cannot be read. */
export function readRefundList(object: unknown): readonly RefundFact[] | null {
  const parsed = refundList.safeParse(object);
  if (!parsed.success) return null;
  const refunds = parsed.data.data.map((refund) => readRefund(refund));
  return refunds.every((refund) => refund !== null) ? refunds : null;
}

/** A Charge of `charge.refunded` (Stripe API, object charge). */
const chargeObject = z.object({
  id: objectId,
  object: z.literal('charge'),
  amount_refunded: amount,
  currency,
  payment_intent: linkedId,
});

export function readRefundedCharge(object: unknown): RefundedChargeFact | null {
  const parsed = chargeObject.safeParse(object);
  if (!parsed.success) return null;
  const { id, amount_refunded: refundedMinor, currency: code, payment_intent: paymentId } = parsed.data;
  return { kind: 'refundedCharge', chargeId: id, paymentId, refundedMinor, currency: code };
}

const chargeOfPayment = z.object({ object: z.literal('charge'), payment_intent: linkedId });

/** The payment that a charge belongs to; `undefined` when the object is no charge. */
export function readPaymentOfCharge(object: unknown): string | null | undefined {
  const parsed = chargeOfPayment.safeParse(object);
  return parsed.success ? parsed.data.payment_intent : undefined;
}

function operationIdIn(value: unknown): string | null {
  return typeof value === 'string' && OPERATION_ID.test(value) ? value : null;
}

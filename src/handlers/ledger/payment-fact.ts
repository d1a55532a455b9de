import { z } from 'zod';
import { isMinorAmount, type WebhookEvent } from '../../api/index.js';
import { instant } from '../instant.js';
import { identifier } from '../storable-text.js';

/** What `payment.succeeded` says. */
export interface PaymentFact {
  readonly reference: string;
  /** In minor units of the currency. */
  readonly amountMinor: number;
  readonly currency: string;
  /** In the spelling of `instant`. */
  readonly occurredAt: string;
}

const payload = z.object({
  type: z.string(),
  data: z.object({
    reference: identifier,
    amount_minor: z.unknown().refine(isMinorAmount).transform(Number),
    currency: z.string().regex(/^[a-z]{3}$/),
    occurred_at: instant,
  }),
});

/**
 * Reads the fact; null when the payload is not one, or its own type, which the signature covers, is not the event's.
 * Nothing is coerced; fields that are not ours are left alone.
 */
export function readPaymentFact(event: Pick<WebhookEvent, 'type' | 'payload'>): PaymentFact | null {
  const parsed = payload.safeParse(event.payload);
  if (!parsed.success || parsed.data.type !== event.type) return null;
  const { reference, amount_minor: amountMinor, currency, occurred_at: occurredAt } = parsed.data.data;
  return { reference, amountMinor, currency, occurredAt };
}

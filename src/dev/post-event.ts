import { signDelivery } from '../sources/sign-delivery.js';

export interface PostTarget {
  /** Of the receiver's source for Stripe events. */
  readonly webhookUrl: string;
  readonly webhookSecret: string;
  readonly signal: AbortSignal;
}

/** Delivers an event to the receiver as Stripe would. */
export function postEvent(body: string, { webhookUrl, webhookSecret, signal }: PostTarget): Promise<Response> {
  const facts = { body: Buffer.from(body), eventId: '', eventType: '', nowMs: Date.now() };
  const headers = signDelivery({ kind: 'stripe' }, webhookSecret, facts);
  return fetch(webhookUrl, { method: 'POST', headers, body, signal });
}

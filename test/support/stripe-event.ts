import { randomBytes } from 'node:crypto';

/** A small snapshot event with an ID of its own; what a test wants otherwise, it says. */
export function stripeEvent(fields: Readonly<Record<string, unknown>> = {}): { id: string; body: string } {
  const id = `evt_${randomBytes(8).toString('hex')}`;
  const event = {
    id,
    object: 'event',
    type: 'payment_intent.succeeded',
    created: 1_700_000_000,
    livemode: false,
    data: { object: { id: 'pi_1', object: 'payment_intent' } },
    ...fields,
  };
  return { id, body: JSON.stringify(event) };
}

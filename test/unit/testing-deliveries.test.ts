import { describe, expect, it } from 'vitest';
import { createSource } from '../../src/sources/create-source.js';
import { receiverConfig } from '../../src/service/receiver-config.js';
import {
  githubDelivery,
  hmacDelivery,
  standardWebhooksDelivery,
  stripeDelivery,
  stripeEvent,
  type SignedDelivery,
} from '../../src/testing/index.js';
import { configure } from '../support/configured.js';
import { SENDER_ENV, SENDER_SECRETS, SENDER_SOURCES, type SenderName } from '../support/senders.js';

const { sources } = receiverConfig(configure(SENDER_SOURCES, SENDER_ENV));
const at = new Date('2026-03-01T12:00:00Z');

/** What the configured source makes of a delivery. */
function received(sender: SenderName, { headers, body }: SignedDelivery): unknown {
  const settings = sources.get(sender)!;
  const source = createSource(settings);
  const distinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]]));
  const secrets = settings.secrets.current().map((secret) => secret.reveal());
  const nowSeconds = at.getTime() / 1000;
  const verified = source.verify({ headers: distinct, body, secrets, toleranceMs: 1_000, nowSeconds });
  if (!verified.ok) return verified.cause;
  const text = body.toString();
  const reading = source.read({ headers: distinct, text, payload: JSON.parse(text) as unknown });
  return reading?.kind === 'event' ? [reading.envelope.eventId, reading.envelope.eventType] : reading;
}

describe('a signed delivery is accepted and read as meant', () => {
  it('of Stripe', () => {
    const event = stripeEvent('payment_intent.succeeded', { id: 'pi_1' });
    const delivery = stripeDelivery(event, { secret: SENDER_SECRETS.stripe, at });
    expect(received('stripe', delivery)).toEqual([event.id, 'payment_intent.succeeded']);
    expect(received('stripe', stripeDelivery(event, { secret: 'whsec_another', at }))).toBe('no_matching_secret');
  });

  it('of GitHub', () => {
    const delivery = githubDelivery(
      { action: 'opened' },
      { secret: SENDER_SECRETS.github, type: 'issues', id: 'g_1', at },
    );
    expect(received('github', delivery)).toEqual(['g_1', 'issues.opened']);
  });

  it('of Standard Webhooks', () => {
    const delivery = standardWebhooksDelivery(
      { type: 'user.created' },
      { secret: SENDER_SECRETS.svix, id: 'msg_1', at },
    );
    expect(received('svix', delivery)).toEqual(['msg_1', 'user.created']);
  });

  it('of an HMAC sender, by its block of the configuration', () => {
    const source = SENDER_SOURCES.clinic!;
    const delivery = hmacDelivery(
      { type: 'appointment.created' },
      { source, secret: SENDER_SECRETS.clinic, id: 'c_1', at },
    );
    expect(received('clinic', delivery)).toEqual(['c_1', 'appointment.created']);
  });

  it('to the byte, for a body that is given as text', () => {
    expect(stripeDelivery('{ "n": 1.0 }', { secret: SENDER_SECRETS.stripe }).body.toString()).toBe('{ "n": 1.0 }');
  });

  it('and a block that is none is refused with what is wrong', () => {
    expect(() => hmacDelivery({}, { source: { signature: {} }, secret: 'x' })).toThrow(/signature\.header/);
  });
});

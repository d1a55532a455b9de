import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSource } from '../../src/sources/create-source.js';
import { signDelivery } from '../../src/sources/sign-delivery.js';
import { receiverConfig } from '../../src/service/receiver-config.js';
import { configure } from '../support/configured.js';
import { SENDER_ENV, SENDER_SECRETS, SENDER_SOURCES, signAs, type SenderName } from '../support/senders.js';

const { sources } = receiverConfig(configure(SENDER_SOURCES, SENDER_ENV));
const NOW = 1_700_000_000;
const SYMMETRIC = ['stripe', 'github', 'svix', 'shopify', 'slack', 'paddle', 'clinic'] as const satisfies SenderName[];

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

describe.each(SYMMETRIC)('a delivery signed for %s', (name) => {
  const settings = sources.get(name)!;
  // `$&` and the like are themselves, and not what String.replace takes them for.
  const id = fc.oneof(fc.stringMatching(/^[\x21-\x2d\x2f-\x7e]{1,255}$/), fc.constantFrom('$&', '$$', "$'", '{id}'));

  test('passes with any ID and body, under the secret that is in force', () => {
    fc.assert(
      fc.property(id, fc.uint8Array(), (eventId, bytes) => {
        const body = Buffer.from(bytes);
        const headers = signDelivery(settings, SENDER_SECRETS[name], {
          body,
          eventId,
          eventType: 'push',
          nowMs: NOW * 1000,
        });
        const distinct = Object.fromEntries(Object.entries(headers).map(([header, value]) => [header, [value]]));
        const secrets = settings.secrets.current().map((secret) => secret.reveal());
        const input = { headers: distinct, body, secrets, toleranceMs: 0, nowSeconds: NOW };
        expect(createSource(settings).verify(input)).toEqual({ ok: true, secretPosition: 0 });
      }),
      { numRuns: 200 },
    );
  });

  test('has the headers that the sender itself sends', () => {
    const body = Buffer.from('{"n":1}');
    const facts = { body, eventId: 'id_1', eventType: 'push', nowMs: NOW * 1000 };
    const { 'content-type': _mine, ...signed } = signDelivery(settings, SENDER_SECRETS[name], facts);
    const { 'content-type': _theirs, ...sent } = lowerCased(
      signAs(name, { body, id: 'id_1', type: 'push', at: NOW }).headers,
    );
    const family = name === 'svix' ? 'svix' : 'webhook';
    expect(signed).toEqual(Object.fromEntries(Object.entries(sent).map(([h, v]) => [h.replace(family, 'webhook'), v])));
  });
});

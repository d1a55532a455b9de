import type * as Crypto from 'node:crypto';
import { timingSafeEqual } from 'node:crypto';
import { beforeEach, expect, test, vi } from 'vitest';
import { receiverConfig } from '../../src/service/receiver-config.js';
import { createSource } from '../../src/sources/create-source.js';
import { verifyStripeSignature } from '../../src/sources/stripe-signature.js';
import { configure } from '../support/configured.js';
import { SENDER_ENV, SENDER_NAMES, SENDER_SOURCES, signAs } from '../support/senders.js';
import { stripeDigest } from '../support/stripe-signing.js';

// What a timing test cannot see is a comparison in machine code; this counts what takes the time instead.
vi.mock('node:crypto', async (importOriginal) => {
  const original = await importOriginal<typeof Crypto>();
  return { ...original, timingSafeEqual: vi.fn(original.timingSafeEqual) };
});

const NOW = 1_700_000_000;
const BODY = Buffer.from('{}');
const SECRETS = ['whsec_first', 'whsec_second', 'whsec_third'];

function comparisons(...signatures: readonly string[]): number {
  const header = [`t=${NOW}`, ...signatures.map((signature) => `v1=${signature}`)].join(',');
  verifyStripeSignature({
    headers: { 'stripe-signature': [header] },
    body: BODY,
    secrets: SECRETS,
    toleranceMs: 300_000,
    nowSeconds: NOW,
  });
  return vi.mocked(timingSafeEqual).mock.calls.length;
}

beforeEach(() => {
  vi.mocked(timingSafeEqual).mockClear();
});

const right = (secret: string): string => stripeDigest(BODY, secret, NOW);
const wrong = '0'.repeat(64);

test.each([
  ['none matches', [wrong, wrong]],
  ['the first of all matches', [right('whsec_first'), wrong]],
  ['the last of all matches', [wrong, right('whsec_third')]],
  ['several match', [right('whsec_first'), right('whsec_second')]],
])('every signature is compared with every secret: %s', (_name, signatures) => {
  expect(comparisons(...signatures)).toBe(SECRETS.length * signatures.length);
});

test('digests alone are compared, 32 bytes with 32 bytes; what is not in their form is not', () => {
  expect(comparisons(wrong, 'potato', '', wrong.slice(1), `${wrong}0`, 'é'.repeat(64), 'A'.repeat(64))).toBe(3);
  for (const [left, rightSide] of vi.mocked(timingSafeEqual).mock.calls) {
    expect([left.byteLength, rightSide.byteLength]).toEqual([32, 32]);
  }
});

const { sources } = receiverConfig(configure(SENDER_SOURCES, SENDER_ENV));

// Not ed25519, whose key is public: node verifies, and nothing of ours compares.
test.each(SENDER_NAMES.filter((name) => name !== 'ed25519'))(
  'so it is for %s, whether the signature is right or not',
  (name) => {
    const settings = sources.get(name)!;
    const secret = settings.secrets.current()[0]!.reveal();
    const { headers, body } = signAs(name, { body: BODY, at: NOW });
    const distinct = Object.fromEntries(
      Object.entries(headers).map(([header, value]) => [header.toLowerCase(), [value]]),
    );
    const secrets = ['whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', secret, secret.replace(/.$/, 'A')];
    for (const [signed, position] of [
      [BODY, 1],
      [Buffer.from('[]'), undefined],
    ] as const) {
      vi.mocked(timingSafeEqual).mockClear();
      const input = {
        headers: distinct,
        body: signed === BODY ? body : signed,
        secrets,
        toleranceMs: 0,
        nowSeconds: NOW,
      };
      const verification = createSource(settings).verify(input);
      expect(verification.ok ? verification.secretPosition : undefined).toBe(position);
      expect(vi.mocked(timingSafeEqual).mock.calls.map(([left, right]) => [left.byteLength, right.byteLength])).toEqual(
        [
          [32, 32],
          [32, 32],
          [32, 32],
        ],
      );
    }
  },
);

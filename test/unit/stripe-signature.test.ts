import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import type { Verification, VerificationInput } from '../../src/sources/source.js';
import { verifyStripeSignature } from '../../src/sources/stripe-signature.js';
import { stripeDigest, stripeSignature } from '../support/stripe-signing.js';
import { bytesOf, stripeSignatureCases, type SignatureCase } from '../support/vectors.js';

const SECRET = 'whsec_test_secret';
const OTHER = 'whsec_other_secret';
const NOW = 1_700_000_000;
const BODY = Buffer.from('{"id":"evt_1"}');

/** Our names for the machine codes that the vectors suggest. */
const CAUSE_OF_REASON: Readonly<Record<string, string>> = {
  missing_signature: 'missing_header',
  signature_mismatch: 'no_matching_secret',
};

describe('verifyStripeSignature', () => {
  test.each(stripeSignatureCases().map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
    const verification = verify(vector);
    if (mustMatch(vector)) {
      expect(verification).toEqual({ ok: true, secretPosition: 0 });
    } else {
      const reason = vector.expect === 'policy' ? 'malformed_header' : vector.reason!;
      expect(verification).toMatchObject({ ok: false, cause: CAUSE_OF_REASON[reason] ?? reason });
    }
  });

  test('accepts what the official library signs', () => {
    const header = stripe().webhooks.generateTestHeaderString({
      payload: BODY.toString(),
      secret: SECRET,
      timestamp: NOW,
    });
    expect(verifyStripeSignature(input({ header }))).toEqual({ ok: true, secretPosition: 0 });
  });

  test.each([
    ['only the second', [OTHER, SECRET], 1],
    ['only the first', [SECRET, OTHER], 0],
    ['both, and the first counts', [SECRET, SECRET], 0],
  ])('says which secret matched: %s', (_name, secrets, secretPosition) => {
    expect(verifyStripeSignature(input({ secrets }))).toEqual({ ok: true, secretPosition });
  });

  test('accepts one signature per active secret while secrets are rolled', () => {
    const header = `t=${NOW},v1=${stripeDigest(BODY, OTHER, NOW)},v1=${stripeDigest(BODY, SECRET, NOW)}`;
    expect(verifyStripeSignature(input({ header }))).toEqual({ ok: true, secretPosition: 0 });
    expect(verifyStripeSignature(input({ header, secrets: ['whsec_new_secret', OTHER] }))).toEqual({
      ok: true,
      secretPosition: 1,
    });
  });

  test('accepts 16 signatures and refuses 17', () => {
    const filler = `,v1=${'0'.repeat(64)}`;
    const header = stripeSignature(BODY, SECRET, NOW);
    expect(verifyStripeSignature(input({ header: header + filler.repeat(15) })).ok).toBe(true);
    expect(verifyStripeSignature(input({ header: header + filler.repeat(16) }))).toEqual({
      ok: false,
      cause: 'malformed_header',
    });
  });

  test.each([
    ['-300 s', -300, true],
    ['-301 s', -301, false],
    ['+300 s', 300, true],
    ['+301 s', 301, false],
  ])('bounds the time in both directions: %s', (_name, skewSeconds, ok) => {
    const verification = verifyStripeSignature(input({ header: stripeSignature(BODY, SECRET, NOW + skewSeconds) }));
    expect(verification).toEqual(
      ok ? { ok: true, secretPosition: 0 } : { ok: false, cause: 'timestamp_out_of_tolerance', skewSeconds },
    );
  });

  test('blames the clock only when the signature is right', () => {
    const header = `t=${NOW - 5_000},v1=${'0'.repeat(64)}`;
    expect(verifyStripeSignature(input({ header }))).toEqual({ ok: false, cause: 'no_matching_secret' });
  });

  test('refuses a digest in upper case', () => {
    const header = `t=${NOW},v1=${stripeDigest(BODY, SECRET, NOW).toUpperCase()}`;
    expect(verifyStripeSignature(input({ header }))).toEqual({ ok: false, cause: 'no_matching_secret' });
  });
});

function input({
  header = stripeSignature(BODY, SECRET, NOW),
  secrets = [SECRET],
}: { header?: string; secrets?: readonly string[] } = {}): VerificationInput {
  return { headers: { 'stripe-signature': [header] }, body: BODY, secrets, toleranceMs: 300_000, nowSeconds: NOW };
}

function verify(vector: SignatureCase): Verification {
  return verifyStripeSignature({
    headers: vector.headerLines === null ? {} : { 'stripe-signature': vector.headerLines },
    body: bytesOf(vector),
    secrets: [vector.secret],
    toleranceMs: vector.toleranceSeconds * 1000,
    nowSeconds: vector.now,
  });
}

/** An empty body is refused before its signature is looked at, which is right in itself. */
function mustMatch(vector: SignatureCase): boolean {
  return vector.expect === 'valid' || vector.expect.startsWith('signature_valid') || vector.reason === 'empty_body';
}

function stripe(): Stripe {
  return new Stripe('sk_test_unused');
}

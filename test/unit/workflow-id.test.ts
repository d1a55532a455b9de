import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeBytes, fairnessKeyForScope, workflowIdForEvent } from '../../src/domain/event.js';
import { idempotencyKey, operationKey, workflowIdForOperation } from '../../src/domain/operation.js';
import { sha256Hex } from '../../src/sha256.js';

const id = (scope: string, eventId: string): string => workflowIdForEvent({ scope, eventId }, sha256Hex);
const bytes = (text: string): number => Buffer.byteLength(text);

describe('the workflow ID of an event', () => {
  it('is the one that the contract shows', () => {
    expect(id('stripe:acct_1:live', 'evt_1')).toBe('webhook:stripe:acct_1:live:evt_1');
  });

  it('escapes a byte outside the alphabet as ~ and two hex digits, the colon only in the event ID', () => {
    expect(id('a:b', 'c:d')).toBe('webhook:a:b:c~3ad');
    expect(id('a/b', 'evt~1%')).toBe('webhook:a~2fb:evt~7e1~25');
    expect(id('ä', 'x')).toBe('webhook:~c3~a4:x');
  });

  it('keeps 200 bytes whole and cuts 201', () => {
    const fits = 'e'.repeat(200 - 'webhook:s:'.length);
    expect(id('s', fits)).toBe(`webhook:s:${fits}`);
    const whole = `webhook:s:${fits}e`;
    expect(id('s', `${fits}e`)).toBe(`${whole.slice(0, 120)}~~${sha256Hex(whole)}`);
  });

  it('is never the same for two keys, and never over 200 bytes', () => {
    const text = fc.oneof(
      fc.string({ minLength: 1, maxLength: 255 }),
      fc.stringMatching(/^[a:~]{1,8}$/),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
    );
    fc.assert(
      fc.property(text, text, text, text, (scopeA, eventA, scopeB, eventB) => {
        expect(bytes(id(scopeA, eventA))).toBeLessThanOrEqual(200);
        fc.pre(scopeA !== scopeB || eventA !== eventB);
        // Lone surrogates are not encodable and become one and the same character; Stripe and we refuse them earlier.
        fc.pre([scopeA, eventA, scopeB, eventB].every((part) => !/\p{Surrogate}/u.test(part)));
        expect(id(scopeA, eventA)).not.toBe(id(scopeB, eventB));
      }),
      { numRuns: 5_000 },
    );
  });

  it('is never the same for two events of any sources, whatever accounts and IDs they bring', () => {
    // Of the form that the configuration and the envelope let in; near each other on purpose, and around the cut at 200.
    const near = fc.stringMatching(/^[a:~.]{1,4}$/);
    const identifier = fc.oneof(
      near,
      fc.stringMatching(/^[\x21-\x7e]{1,255}$/),
      fc.tuple(fc.integer({ min: 90, max: 254 }), near).map(([length, end]) => ('e'.repeat(length) + end).slice(-255)),
    );
    const account = identifier.map((text) => text.replaceAll(':', '.').slice(0, 200));
    const kind = fc.constantFrom('github', 'standard-webhooks', 'hmac', 'stripe');
    const scope = fc.oneof(
      fc.tuple(kind, account).map(([name, of]) => `${name}:${of}`),
      // A Stripe event names its account itself, and nothing keeps a colon out of it.
      fc.tuple(identifier, fc.constantFrom('live', 'test')).map(([of, mode]) => `stripe:${of}:${mode}`),
    );
    const key = fc.record({ scope, eventId: identifier });
    // One line of text cut in two places: the same characters as two scopes and two IDs.
    const cut = fc
      .tuple(fc.array(fc.constantFrom('a', 'b', 'live', 'test'), { minLength: 4, maxLength: 8 }), fc.nat(), fc.nat())
      .map(([parts, ...cuts]) =>
        cuts.map((at) => {
          const end = 2 + (at % (parts.length - 2));
          return { scope: `stripe:${parts.slice(0, end).join(':')}`, eventId: parts.slice(end).join(':') };
        }),
      );
    fc.assert(
      fc.property(key, key, cut, identifier, (a, b, cuts, eventId) => {
        // The second is written as the first is escaped.
        const escaped = { scope: a.scope, eventId: escapeBytes(a.eventId, /[a-z]/).slice(0, 255) };
        for (const [one, other] of [
          [a, b],
          [a, { ...b, eventId: a.eventId }],
          [a, { ...a, eventId }],
          [a, escaped],
          cuts,
        ]) {
          if (one?.scope === other?.scope && one?.eventId === other?.eventId) continue;
          expect(id(one!.scope, one!.eventId)).not.toBe(id(other!.scope, other!.eventId));
        }
        expect(bytes(id(a.scope, a.eventId))).toBeLessThanOrEqual(200);
      }),
      { numRuns: 5_000, seed: 20_261_130 },
    );
  });

  it('has a fairness key of at most 64 bytes', () => {
    expect(fairnessKeyForScope('stripe:acct_1:live', sha256Hex)).toBe('stripe:acct_1:live');
    expect(fairnessKeyForScope('s'.repeat(64), sha256Hex)).toBe('s'.repeat(64));
    expect(bytes(fairnessKeyForScope('s'.repeat(65), sha256Hex))).toBe(64);
  });
});

describe('the names of an operation', () => {
  it('cannot be imitated by a part that holds separators', () => {
    expect(operationKey('email', 'order-paid', 't', 'o')).toBe('email:order-paid:t:o');
    expect(operationKey('refund', 'a:b', 'c')).not.toBe(operationKey('refund', 'a', 'b:c'));
  });

  it('derive the key sent to a provider, one a generation', () => {
    const key = operationKey('refund', 'late', 'default', 'pi_1');
    expect(idempotencyKey(key, 1, sha256Hex)).toBe(`oncehook:${sha256Hex(key).slice(0, 40)}:1`);
    expect(workflowIdForOperation(key, sha256Hex)).toBe(`operation:${sha256Hex(key).slice(0, 40)}`);
  });
});

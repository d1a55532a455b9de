import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asideId } from '../../src/inbox/keep-aside.js';
import { isIdentifier, isUnsignedIdentifier } from '../../src/sources/identifier.js';

const aside = (eventId: string, bytes: string): string =>
  asideId({ eventId, signedSha256: createHash('sha256').update(bytes).digest() });

describe('the ID under which a copy or a conflict is kept aside', () => {
  const bytes = fc.string({ maxLength: 3 });
  const eventId = fc.oneof(
    fc.stringMatching(/^[a~0]{1,5}$/),
    fc.stringMatching(/^[\x21-\x7e]{1,255}$/),
    fc.tuple(fc.stringMatching(/^[a~]{1,3}$/), bytes).map(([id, of]) => aside(id, of)),
  );

  test('is its own for every ID with every bytes', () => {
    fc.assert(
      fc.property(eventId, bytes, eventId, bytes, (idA, bytesA, idB, bytesB) => {
        fc.pre(idA !== idB && bytesA !== bytesB);
        const all = [aside(idA, bytesA), aside(idA, bytesB), aside(idB, bytesA), aside(idB, bytesB)];
        expect(new Set(all).size).toBe(4);
      }),
      { numRuns: 3_000, seed: 20_261_130 },
    );
  });

  test('cannot be the ID of a delivery that is let in', () => {
    fc.assert(
      fc.property(eventId, bytes, eventId, (id, of, other) => {
        expect(isIdentifier(aside(id, of).slice(-255))).toBe(true);
        expect(isUnsignedIdentifier(aside(id, of).slice(-255))).toBe(false);
        fc.pre(isUnsignedIdentifier(other));
        expect(other).not.toBe(aside(id, of));
      }),
      { numRuns: 3_000, seed: 20_261_130 },
    );
  });
});

test.each([
  ['72d3162e-cc78-11e3-81ab-4c9367dc0958', true],
  [`d1~${'0'.repeat(31)}`, true],
  [`d1~${'0'.repeat(32)}x`, true],
  [`d1~${'A'.repeat(32)}`, true],
  [`d1~${'0'.repeat(32)}`, false],
  ['a b', false],
  ['', false],
])('an unsigned ID may be %s: %s', (id, may) => {
  expect(isUnsignedIdentifier(id)).toBe(may);
});

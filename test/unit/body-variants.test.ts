import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyVariants } from '../../src/http/body-variants.js';

/** Every guess at what a body was before, by what would then have been done to it. */
function guesses(body: string | Buffer): readonly (readonly [alteration: string, body: string])[] {
  return [...bodyVariants(Buffer.from(body))].map((variant) => [variant.alteration, variant.body.toString()] as const);
}

describe('the guesses at what a body was', () => {
  test.each([
    ['a line break was added', '{"a":1}\n', ['line_break_added', '{"a":1}']],
    ['two bytes of one', '{"a":1}\r\n', ['line_break_added', '{"a":1}']],
    ['a line break was removed', '{"a":1}', ['line_break_removed', '{"a":1}\n']],
    ['line ends became longer', '{\r\n"a":1}', ['line_ends_changed', '{\n"a":1}']],
    ['line ends became shorter', '{\n"a":1}', ['line_ends_changed', '{\r\n"a":1}']],
    ['a mark was put before', '\ufeff{"a":1}', ['byte_order_mark_added', '{"a":1}']],
    ['UTF-8 was read as Latin-1', '{"a":"\u00c3\u00a9"}', ['encoded_twice', '{"a":"é"}']],
  ])('%s', (_name, body, guess) => {
    expect(guesses(body)).toContainEqual(guess);
  });

  test('JSON was parsed and written again, in either layout', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value = JSON.parse(text) as unknown;
        const compact = JSON.stringify(value);
        const indented = JSON.stringify(value, null, 2);
        fc.pre(compact !== indented && indented.length < 3 * compact.length);
        expect(guesses(indented)).toContainEqual(['json_rewritten', compact]);
        expect(guesses(compact)).toContainEqual(['json_rewritten', indented]);
      }),
      { numRuns: 1_000 },
    );
  });

  test('none is the body itself', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string({ unit: 'binary' })), (text) => {
        expect(guesses(text).filter(([, guess]) => guess === text)).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});

// Nobody has to be known to us to make us guess.
describe('a body that is made to be costly', () => {
  const LENGTH = 256 * 1024;
  test.each([
    ['opens only', '['.repeat(LENGTH)],
    ['opens objects', '{"a":'.repeat(LENGTH / 5)],
    ['closes only', ']'.repeat(LENGTH)],
    ['opens and closes', '[]'.repeat(LENGTH / 2)],
    ['has commas in the depth', `${'['.repeat(64)}${','.repeat(LENGTH)}`],
    ['has nothing but colons', ':'.repeat(LENGTH)],
    ['is one string', `"${'\\"'.repeat(LENGTH / 2)}`],
    ['has line breaks only', '\n'.repeat(LENGTH)],
    ['has bytes that are no text', Buffer.alloc(LENGTH, 0xff)],
  ])('makes guesses of a bounded size, soon: it %s', (_name, body) => {
    const startedAt = performance.now();
    const bytes = [...bodyVariants(Buffer.from(body))].reduce((sum, variant) => sum + variant.body.length, 0);
    expect(bytes).toBeLessThan(16 * LENGTH);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

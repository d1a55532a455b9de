import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EventIdPlace } from '../../src/domain/hmac-sender.js';
import { readEventId } from '../../src/sources/hmac-event-id.js';

/** The ID that these pointers make of a text, as a receiver would read it. */
function idOf(text: string, settings: EventIdPlace): string | undefined {
  return readEventId(settings, { headers: {}, text, payload: JSON.parse(text) });
}

/** JSON texts of the fields, derived from in order. */
function derive(...fields: readonly string[]): string | undefined {
  const pointers = fields.map((_field, index) => `/f${index}`);
  return idOf(`{${fields.map((field, index) => `"f${index}":${field}`).join()}}`, { kind: 'derived', pointers });
}

describe('a derived ID', () => {
  test('has its documented form', () => {
    expect(derive('"o_1"', '1', 'true')).toMatch(/^derived:[0-9a-f]{64}$/);
  });

  test('is never the same for two lists of fields', () => {
    // Texts that look like the hash's own framing, halves of surrogate pairs, and numbers that round to one.
    const text = fc.oneof(
      fc.stringMatching(/^[sunb0-9:]{0,6}$/),
      fc.array(fc.constantFrom('\ud800', '\ud801', '\udc00', '\ufffd', 'x'), { maxLength: 3 }).map((a) => a.join('')),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('1', 'true', 'null', ''),
    );
    const field = fc.oneof(
      text.map((value) => JSON.stringify(value)),
      fc.constantFrom('true', 'false', '0', '-0', '1', '1.0', '1e0', '9007199254740992', '9007199254740993'),
      fc.bigInt().map(String),
    );
    const near = fc.constantFrom('""', '"s"', '"ss"', '"s:"', '"1:"', '"s0:"', '"1"', '1', '"true"', 'true');
    const fields = fc.oneof(
      fc.array(field, { minLength: 1, maxLength: 4 }),
      fc.array(near, { minLength: 1, maxLength: 3 }),
    );
    fc.assert(
      fc.property(fields, fields, (a, b) => {
        fc.pre(a.join() !== b.join());
        expect(derive(...a)).toMatch(/^derived:/);
        expect(derive(...a)).not.toBe(derive(...b));
      }),
      { numRuns: 5_000, seed: 20_261_130 },
    );
  });

  test('tells halves of surrogate pairs apart, which are one character in UTF-8', () => {
    const ids = ['"\\ud800"', '"\\ud801"', '"\ufffd"', '"\\udc00"'].map((field) => derive(field));
    expect(new Set(ids).size).toBe(4);
  });

  test('does not depend on how JSON spells the same text or where other fields stand', () => {
    const settings = { kind: 'derived', pointers: ['/order/id', '/status'] } as const;
    const id = idOf('{"order":{"id":"ö1"},"status":"paid"}', settings);
    expect(idOf('{ "status":"paid", "retry":2, "order":{"x":[],"id":"\\u00f61"} }', settings)).toBe(id);
  });

  test.each(['null', '{}', '[]', '{"a":1}'])('cannot be made from %s', (field) => {
    expect(derive('"o_1"', field)).toBeUndefined();
  });

  test('cannot be made without one of its fields', () => {
    expect(idOf('{"a":1}', { kind: 'derived', pointers: ['/a', '/b'] })).toBeUndefined();
    expect(idOf('{"a":1}', { kind: 'derived', pointers: ['/constructor'] })).toBeUndefined();
  });
});

describe('an ID in the body', () => {
  test.each([
    ['9007199254740993', '9007199254740993'],
    ['820982911946154508', '820982911946154508'],
    ['-5', '-5'],
    ['0', '0'],
    ['1'.repeat(255), '1'.repeat(255)],
    ['1'.repeat(256), undefined],
    ['1.0', undefined],
    ['1e3', undefined],
    ['-0', undefined],
    ['"1"', undefined],
    ['true', undefined],
    ['null', undefined],
  ])('that is an integer keeps every digit: %s', (written, id) => {
    expect(idOf(`{"id":${written}}`, { kind: 'body', pointer: '/id', type: 'integer' })).toBe(id);
  });

  test.each([
    ['"evt_1"', 'evt_1'],
    ['"1"', '1'],
    ['1', undefined],
    ['""', undefined],
    ['"a b"', undefined],
    ['"a\\u0000"', undefined],
    ['"é"', undefined],
  ])('that is a text is taken as it is, or not at all: %s', (written, id) => {
    expect(idOf(`{"id":${written}}`, { kind: 'body', pointer: '/id', type: 'string' })).toBe(id);
  });

  test('two integers that are one number in JavaScript are two IDs', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt({ min: 1n, max: 3n }), (id, distance) => {
        const read = (value: bigint): string | undefined =>
          idOf(`{"id":${value}}`, { kind: 'body', pointer: '/id', type: 'integer' });
        expect(read(id)).toBe(String(id));
        expect(read(id)).not.toBe(read(id + distance));
      }),
      { numRuns: 1_000 },
    );
  });
});

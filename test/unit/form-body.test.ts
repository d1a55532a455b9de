import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formField, isForm } from '../../src/sources/form-body.js';

const payloadOf = (form: string | Buffer): string | undefined => formField(Buffer.from(form), 'payload')?.toString();

describe('the field of a form', () => {
  test('is given back as it was put in', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(payloadOf(new URLSearchParams({ payload: text }).toString())).toBe(text);
        expect(payloadOf(`payload=${encodeURIComponent(text)}`)).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ['beside others', 'a=1&payload=x&b', 'x'],
    ['with its name escaped', '%70ayload=x', 'x'],
    ['empty', 'payload=', ''],
    ['with a sign of equality in it', 'payload=a=b', 'a=b'],
    ['with plus signs for spaces', 'payload=a+b', 'a b'],
  ])('is found %s', (_name, form, value) => {
    expect(payloadOf(form)).toBe(value);
  });

  test.each([
    ['twice', 'payload=x&payload=x'],
    ['twice, once escaped', 'payload=x&%70ayload=y'],
    ['not at all', 'payloads=x'],
    ['beside a name with broken escapes', '%zz=1&payload=x'],
    ['with broken escapes', 'payload=%zz'],
    ['with what is not UTF-8', 'payload=%ff'],
    ['with half of a surrogate pair', 'payload=%ed%a0%80'],
    ['in a body that is not ASCII', 'payload=é'],
    ['in a body with a quotation mark', 'payload=x&a="'],
  ])('is not read when it is there %s', (_name, form) => {
    expect(payloadOf(form)).toBeUndefined();
  });

  test('is never read from JSON, whatever texts somebody got into it', () => {
    const texts = fc.array(fc.oneof(fc.string(), fc.constantFrom('&payload=%7B%7D&', 'payload=1', '&', '=')));
    fc.assert(
      fc.property(fc.oneof(texts, fc.dictionary(fc.constantFrom('&payload', 'a'), texts), fc.jsonValue()), (value) => {
        expect(payloadOf(JSON.stringify(value))).toBeUndefined();
      }),
      { numRuns: 2_000 },
    );
  });
});

test.each([
  [['application/x-www-form-urlencoded'], true],
  [['Application/X-WWW-Form-Urlencoded ; charset=utf-8'], true],
  [['application/x-www-form-urlencodedx'], false],
  [['application/json'], false],
  [undefined, false],
])('a content type says that a body is a form: %j', (contentType, is) => {
  expect(isForm({ 'content-type': contentType })).toBe(is);
});

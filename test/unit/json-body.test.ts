import { describe, expect, test } from 'vitest';
import { readJsonBody, type JsonBody } from '../../src/http/json-body.js';
import { workOf } from '../support/timing.js';
import { bytesOf, hostileBodies, jsonTestSuite, type JsonSuiteFile } from '../support/vectors.js';

/** Files that the grammar allows and we do not, with our code. */
const STRICTER: Readonly<Record<string, string>> = {
  'y_object_duplicated_key.json': 'json_duplicate_key',
  'y_object_duplicated_key_and_value.json': 'json_duplicate_key',
  'i_structure_500_nested_arrays.json': 'json_too_deep',
};

const SUITE = Object.entries(jsonTestSuite()).filter(([, file]) => file.set === 'test_parsing');

describe('JSONTestSuite', () => {
  test('is there', () => {
    expect(SUITE).toHaveLength(318);
  });

  test.each(SUITE)('%s', (name, file) => {
    const read = readJsonBody(suiteBytes(file));
    if (name in STRICTER) {
      expect(read).toEqual({ ok: false, code: STRICTER[name] });
    } else {
      // Where the grammar leaves it open, we take what JSON.parse takes of strict UTF-8; PostgreSQL's json takes it too.
      const accept = file.verdict === 'implementation_defined' ? file.node === 'accept' : file.verdict === 'accept';
      expect(read.ok).toBe(accept);
    }
  });
});

describe('hostile bodies', () => {
  test.each(hostileBodies().map((body) => [body.name, body] as const))('%s', (_name, hostile) => {
    const body = bytesOf(hostile);
    expect(body).toHaveLength(hostile.bytes);
    let read: JsonBody | undefined;
    expect(workOf(() => (read = readJsonBody(body)))).toBeLessThan(1_000);
    if (hostile.expectCode.includes('json')) expect(read).toEqual({ ok: false, code: hostile.expectCode });
    else expect(read?.ok).toBe(true);
  });
});

describe('nesting', () => {
  test.each([
    ['64 levels', '['.repeat(64) + ']'.repeat(64), true],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), false],
    ['65 levels, of which some are text', `["${'['.repeat(65)}"]`, true],
    ['brackets after an escaped quote', `["\\"${'['.repeat(65)}"]`, true],
    ['brackets after an escaped backslash', `["\\\\",${'['.repeat(64)}${']'.repeat(64)}]`, false],
    ['many values side by side', `[${'[],'.repeat(1_000)}[]]`, true],
  ])('%s', (_name, text, ok) => {
    expect(readJsonBody(Buffer.from(text)).ok).toBe(ok);
  });

  test('a megabyte of brackets is refused at once', () => {
    const body = Buffer.alloc(1024 * 1024, '[');
    expect(readJsonBody(body)).toEqual({ ok: false, code: 'json_too_deep' });
    expect(workOf(() => readJsonBody(body))).toBeLessThan(50);
  });
});

describe('a key given twice', () => {
  test.each([
    ['at the top', '{"a":1,"a":1}', false],
    ['at the top, with white space', '{ "a" : 1 , "a" : 1 }', false],
    ['spelled with an escape', '{"id":1,"\\u0069d":2}', false],
    ['spelled with two escapes', '{"\\u0069d":1,"i\\u0064":2}', false],
    ['an escaped quote in it', '{"a\\"b":1,"a\\u0022b":2}', false],
    ['a lone surrogate', '{"\\ud800":1,"\\uD800":2}', false],
    ['__proto__', '{"__proto__":1,"__proto__":2}', false],
    ['the empty key', '{"":1,"":2}', false],
    ['after a nested object', '{"a":{"b":1},"a":2}', false],
    ['below the top', '{"a":{"b":1,"b":2}}', true],
    ['in an array at the top', '[{"a":1,"a":2}]', true],
    ['in different cases', '{"a":1,"A":2}', true],
    ['in different normal forms', '{"\\u00e9":1,"e\\u0301":2}', true],
    ['as a value', '{"a":"a","b":"a:"}', true],
    ['in a text that looks like a key', '{"a":"\\"b\\":1","b":2}', true],
  ])('%s', (_name, text, ok) => {
    const read = readJsonBody(Buffer.from(text));
    expect(read.ok).toBe(ok);
    if (!ok) expect(read).toEqual({ ok: false, code: 'json_duplicate_key' });
  });
});

test('the text that is kept is the text that came', () => {
  const body = Buffer.from('{ "n": 9007199254740993, "e": 1e400,\n "s": "a\\u0000\\ud800\\/é😀" }');
  const read = readJsonBody(body);
  expect(read.ok && Buffer.from(read.text).equals(body)).toBe(true);
});

test('an object with a key __proto__ does not change what objects inherit', () => {
  const read = readJsonBody(Buffer.from('{"__proto__":{"admin":true}}'));
  expect(read.ok && Object.hasOwn(read.value as object, '__proto__')).toBe(true);
  expect(({} as { admin?: boolean }).admin).toBeUndefined();
});

function suiteBytes(file: JsonSuiteFile): Buffer {
  if (file.base64 !== undefined) return Buffer.from(file.base64, 'base64');
  return Buffer.from(file.repeat![0].repeat(file.repeat![1]) + (file.suffix ?? ''));
}

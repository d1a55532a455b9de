import { expect, test } from 'vitest';
import { matchesTypePattern } from '../../src/sources/type-pattern.js';

test.each([
  ['invoice.paid', 'invoice.paid', true],
  ['invoice.paid', 'invoice.paid.late', false],
  ['invoice.*', 'invoice.paid', true],
  ['invoice.*', 'invoice.', true],
  ['invoice.*', 'invoiceitem.created', false],
  ['*', 'anything', true],
  ['*.created', 'customer.created', true],
  ['*.created', 'customer.created.late', false],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'aXbYc', true],
  ['a*b*c', 'ac', false],
  ['ab*ba', 'aba', false],
  ['a**b', 'ab', true],
  ['invoice.?', 'invoice.x', false],
  ['invoice.+', 'invoice..', false],
])('%s against %s', (pattern, type, matches) => {
  expect(matchesTypePattern(pattern, type)).toBe(matches);
});

test('a pattern that would make an expression backtrack is quick', () => {
  const startedAt = performance.now();
  expect(matchesTypePattern('*a'.repeat(50) + 'b', 'a'.repeat(255))).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(50);
});

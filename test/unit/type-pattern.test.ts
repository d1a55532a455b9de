import { expect, test } from 'vitest';
import { matchesTypePattern } from '../../src/sources/type-pattern.js';
import { workOf } from '../support/timing.js';

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
  let matches = true;
  const work = workOf(() => (matches = matchesTypePattern('*a'.repeat(50) + 'b', 'a'.repeat(255))));
  expect(matches).toBe(false);
  expect(work).toBeLessThan(50);
});

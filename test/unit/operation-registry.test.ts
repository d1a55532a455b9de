import { describe, expect, test } from 'vitest';
import { defineOperation, type AnyOperationDefinition } from '../../src/index.js';
import { createOperationRegistry } from '../../src/operations/registry.js';
import { anyParams } from '../support/any-params.js';

function kind(name: string): AnyOperationDefinition {
  return defineOperation({
    kind: name,
    params: anyParams,
    perform: () => Promise.resolve({ kind: 'confirmed' }),
    classify: () => ({ kind: 'unknown', code: 'never' }),
    onUnknown: 'hold',
  });
}

describe('the registry of kinds', () => {
  test('finds what was defined and nothing else', () => {
    const registry = createOperationRegistry([kind('email'), kind('http')]);
    expect(registry.kinds).toEqual(['email', 'http']);
    expect(registry.get('http')?.kind).toBe('http');
    expect(registry.get('constructor')).toBeUndefined();
    expect(registry.get('__proto__')).toBeUndefined();
  });

  test('refuses a kind that is defined twice, naming it', () => {
    expect(() => createOperationRegistry([kind('email'), kind('http'), kind('email')])).toThrow(/"email"/);
  });

  test.each(['Email', 'e-mail', '', 'e'.repeat(64), '1mail'])('refuses the name %j', (name) => {
    expect(() => kind(name)).toThrow(TypeError);
  });

  test('refuses reconcile without a way to look', () => {
    expect(() =>
      defineOperation({
        kind: 'refund',
        params: anyParams,
        perform: () => Promise.resolve({ kind: 'confirmed' }),
        classify: () => ({ kind: 'unknown', code: 'never' }),
        onUnknown: 'reconcile',
      }),
    ).toThrow(/reconcile/);
  });
});

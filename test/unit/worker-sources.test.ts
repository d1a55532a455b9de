import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import { applied, type HandlerSet } from '../../src/index.js';
import { parseConfig } from '../../src/config/parse-config.js';
import { builtInHandlerSets, workerSources } from '../../src/service/worker-sources.js';

function admit(source: object, scope: string): unknown {
  const config = parseConfig(
    {
      version: 1,
      sources: {
        stripe: { kind: 'stripe', secrets: ['whsec_0123456789'], account: 'acct_1', tenant: 'ours', ...source },
      },
    },
    { env: {} },
  );
  return workerSources(config, builtInHandlerSets(config)).get('stripe')?.admit(scope);
}

describe('a handler set of their own', () => {
  const load = (set: unknown): unknown => {
    const config = parseConfig(
      { version: 1, sources: { shop: { kind: 'github', secrets: ['0123456789abcdef01234567'], handlers: 'shop' } } },
      { env: {}, handlerSets: new Set(['shop']) },
    );
    return workerSources(config, new Map([['shop', set as HandlerSet]]));
  };

  it('is told at the start when it is none, or has a type without a handler', () => {
    expect(() => load(undefined)).toThrow('handler set "shop": This is not a handler set');
    expect(() => load({ handlers: { push: () => applied() } })).toThrow(
      'handler set "shop": This is not a handler set',
    );
    expect(() => load({ handlers: new Map([['push', undefined]]) })).toThrow(
      'handler set "shop": The handler for "push"',
    );
    expect(() => load({ handlers: new Map([['push', []]]) })).toThrow(ConfigError);
    expect(load({ handlers: new Map([['push', [() => applied()]]]) })).toHaveProperty('size', 1);
    expect(load({ handlers: new Map() })).toHaveProperty('size', 1);
  });
});

describe('a worker admits', () => {
  it("the source's own account under its tenant, and connected ones under theirs", () => {
    const accounts = { acct_9: 'tenant-9' };
    expect(admit({ accounts }, 'stripe:acct_1:live')).toEqual({ kind: 'tenant', tenant: 'ours' });
    expect(admit({ accounts }, 'stripe:acct_9:test')).toEqual({ kind: 'tenant', tenant: 'tenant-9' });
  });

  it('no other account, which a replay could bring', () => {
    expect(admit({}, 'stripe:acct_9:live')).toEqual({ kind: 'refused', reason: 'account_mismatch' });
  });

  it('no other mode', () => {
    expect(admit({ mode: 'live' }, 'stripe:acct_1:test')).toEqual({ kind: 'refused', reason: 'mode_mismatch' });
    expect(admit({ mode: 'live' }, 'stripe:acct_1:live')).toMatchObject({ kind: 'tenant' });
  });
});

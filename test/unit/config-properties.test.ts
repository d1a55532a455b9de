import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.js';
import type { ConfigDocument } from '../../src/config/document-schema.js';
import { formatDuration, parseDuration } from '../../src/config/duration.js';
import { readConfig, type ParseOptions } from '../../src/config/parse-config.js';
import { summarizeConfig } from '../../src/config/summarize-config.js';
import { ConfigError } from '../../src/errors.js';
import { GOOD_FILE, loadText } from '../support/config-input.js';

/** Reads a document as code gives it, with everything built, so that the whole format is walked. */
function read(document: unknown, options: ParseOptions = {}): Config | ConfigError {
  try {
    const origin = { label: null, lineOf: () => undefined };
    return readConfig({ document, file: null, origin, problems: [], literals: 'allowed' }, { env: {}, ...options }, []);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

/** Something of everything that the format knows. */
const WHOLE: ConfigDocument = {
  version: 1,
  sources: {
    stripe: {
      kind: 'stripe',
      secrets: ['whsec_0123456789'],
      account: 'acct_1',
      mode: 'live',
      accounts: { acct_9: 'tenant-9' },
      apiKey: '${STRIPE_API_KEY}',
      owns: { metadata: { app: 'shop' } },
      ignore: ['invoice.*'],
      activeFrom: '2026-01-01T00:00:00Z',
      response: { body: '[accepted]', contentType: 'text/plain' },
      tolerance: '300s',
      rateLimit: { perSecond: 200, burst: 400 },
    },
    hub: { kind: 'github', secrets: ['a secret of twenty-four bytes'], equalBodies: 'normal' },
    clinic: {
      kind: 'hmac',
      secrets: ['another secret of so many bytes'],
      signature: {
        header: 'X-Signature',
        signed: '{timestamp}:{body}',
        timestamp: { header: 'X-Timestamp', unit: 's' },
      },
      eventId: { derived: ['/order/id', '/status'] },
      eventType: { body: '/type' },
      challenge: { when: { pointer: '/type', equals: 'url_verification' }, answer: '/challenge' },
    },
  },
  orders: { firstWait: '5s', latePayment: 'refund' },
  effects: { refund: { mode: 'propose', maxAmountMinor: 100_000, perHour: 50 }, email: { mode: 'auto' } },
  email: { orderPaid: 'resend', merchant: 'owner@example.com', giveUpAfter: '3d' },
  calendar: { url: 'https://calendar.example' },
  maxBodyMemory: 134_217_728,
  dispatch: { startsPerSecond: 50 },
  retention: { payload: '0d', inbox: '400d' },
};

type Path = readonly (string | number)[];

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, field]) => pathsOf(field, [...path, key]))];
}

/** A copy with another value at a path; the same where the path leads nowhere any more. */
function spoilt(value: unknown, [step, ...rest]: Path, put: unknown): unknown {
  if (step === undefined) return put;
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value);
  const known = fields.some(([key]) => key === step) ? fields : [...fields, [step, undefined] as const];
  const copy = known.map(
    ([key, field]) => [key, key === step ? spoilt(field, rest, put) : (field as unknown)] as const,
  );
  return Array.isArray(value) ? copy.map(([, item]) => item) : Object.fromEntries(copy);
}

const anyPath = fc.constantFrom(...pathsOf(WHOLE));
const anyValue = fc.oneof(
  fc.anything({
    withDate: true,
    withMap: true,
    withSet: true,
    withBigInt: true,
    withNullPrototype: true,
    withSparseArray: true,
  }),
  fc.constantFrom('__proto__', '${', '${A}', '${file:/x}', '', '1s', -1, 0, Number.NaN, null, undefined, [], {}),
);

describe('the parser', () => {
  it('takes the whole format', () => {
    expect(read(WHOLE)).not.toBeInstanceOf(ConfigError);
  });

  it('refuses by ConfigError alone, whatever it is given', () => {
    fc.assert(
      fc.property(anyValue, (document) => {
        expect(read(document)).toBeInstanceOf(ConfigError);
      }),
      { numRuns: 200 },
    );
  });

  it('refuses by ConfigError alone, whatever two places of a good document hold', () => {
    fc.assert(
      fc.property(anyPath, anyValue, anyPath, anyValue, (one, first, other, second) => {
        read(spoilt(spoilt(WHOLE, one, first), other, second));
      }),
      { numRuns: 300 },
    );
  });

  it('refuses by ConfigError alone, whatever the text of a file is', () => {
    const yaml = fc.stringMatching(/^[a-z0-9 :\-?#&*!|>'"%@`{}[\],\n\t$~]*$/);
    fc.assert(
      fc.property(fc.oneof(yaml, fc.string({ unit: 'binary' })), fc.nat(GOOD_FILE.length), (junk, at) => {
        for (const text of [junk, GOOD_FILE.slice(0, at) + junk + GOOD_FILE.slice(at)]) {
          try {
            loadText(text, { role: 'tool' });
          } catch (error) {
            expect(error).toBeInstanceOf(ConfigError);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it('names an unknown key wherever it stands', () => {
    const maps = pathsOf(WHOLE).filter((path) => {
      const value = path.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], WHOLE);
      const isOpen = ['sources', 'accounts', 'metadata'].includes(String(path.at(-1)));
      return typeof value === 'object' && !Array.isArray(value) && !isOpen;
    });
    expect(maps.length).toBeGreaterThan(15);
    for (const path of maps) {
      const error = read(spoilt(WHOLE, [...path, 'zzzzzz'], 1));
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as ConfigError).problems.join('\n')).toContain('zzzzzz: unknown key');
    }
  });
});

describe('a secret', () => {
  const CANARY = 'whsec_canary-0123456789-canary';
  const leaks = (text: string): boolean => text.includes('canary');

  it('is in no problem and no warning, wherever it was put by mistake', () => {
    fc.assert(
      fc.property(
        anyPath,
        fc.constantFrom(CANARY, [CANARY], { [CANARY]: CANARY }, `\${${CANARY}}`),
        anyPath,
        (path, put, other) => {
          const document = spoilt(spoilt(WHOLE, path, put), other, undefined);
          for (const literals of ['allowed', 'refused'] as const) {
            try {
              const origin = { label: null, lineOf: () => undefined };
              const config = readConfig({ document, file: null, origin, problems: [], literals }, { env: {} }, []);
              expect(config.warnings.some(leaks)).toBe(false);
            } catch (error) {
              expect(error).toBeInstanceOf(ConfigError);
              expect(leaks(inspect(error))).toBe(false);
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is in no problem about the text around it', () => {
    fc.assert(
      fc.property(
        fc.nat(GOOD_FILE.length),
        fc.constantFrom('', '\n', ': ', ' [', ' {', '"', " '", ' &', ' *', ' !', '\t', '? '),
        (at, before) => {
          const text = GOOD_FILE.slice(0, at) + before + CANARY + GOOD_FILE.slice(at);
          try {
            loadText(text, { role: 'tool' });
          } catch (error) {
            expect(error).toBeInstanceOf(ConfigError);
            expect(leaks(inspect(error))).toBe(false);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it.each([
    `version: 1\nsources: [] ${CANARY}\n`,
    `version: 1\nsources: "x" ${CANARY}\n`,
    `version: 1 }${CANARY}\n`,
    `%${CANARY} x\nversion: 1\n`,
    `version: !${CANARY} 1\n`,
    `version: *${CANARY}\n`,
    `version: "\\q${CANARY}"\n`,
    `${CANARY}: 1\n${CANARY}: 2\n`,
    `[${CANARY}]: 1\n`,
  ])('is not quoted from %j', (text) => {
    const error = (() => {
      try {
        return loadText(text);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(ConfigError);
    expect(leaks(inspect(error))).toBe(false);
  });

  it('is in nothing that a configuration prints as', () => {
    const env = {
      STRIPE_WEBHOOK_SECRET: CANARY,
      STRIPE_API_KEY: 'sk_test_canary',
      DATABASE_URL: 'postgres://shop:canary@db.example/shop?password=canary',
      SMTP_URL: 'smtp://shop:canary@mail.example',
      ADMIN_TOKEN: 'canary-canary-canary',
      EMAIL_FROM: 'shop@example.com',
    };
    const document = spoilt(
      spoilt(WHOLE, ['sources', 'stripe', 'secrets'], ['${STRIPE_WEBHOOK_SECRET}', `${CANARY}-2`]),
      ['calendar', 'url'],
      'https://calendar.example/canary',
    );
    const config = read(document, { env, role: 'worker' }) as Config;
    expect(config).not.toBeInstanceOf(ConfigError);
    expect(config.sources.get('stripe')?.secrets.current()[0]?.reveal()).toBe(CANARY);
    const shown = [
      inspect(config, { depth: Infinity, showHidden: true, getters: true }),
      JSON.stringify(config),
      JSON.stringify([...config.sources.values()]),
      inspect(summarizeConfig(config), { depth: Infinity }),
    ];
    for (const text of shown) expect(leaks(text)).toBe(false);
  });
});

describe('a duration', () => {
  it('is read as it is written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 36_500 * 86_400_000 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });

  it.each([
    ['0d', 0],
    ['1ms', 1],
    ['300s', 300_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['90d', 7_776_000_000],
    ['36500d', 3_153_600_000_000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '5', 's', '05s', '+5s', '5S', '5s ', '5 s', '5.0s', '1e3s', '5w', '36501d', '9999999999999ms'])(
    '%j is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import type { HmacSourceConfig } from '../../src/config/config.js';
import { configJsonSchema } from '../../src/config/json-schema.js';
import { readConfig } from '../../src/config/parse-config.js';
import { readYaml } from '../../src/config/yaml-document.js';
import { GOOD_ENV, loadText } from '../support/config-input.js';
import { ROOT } from '../support/dist.js';

const SCHEMA_FILE = join(ROOT, 'oncehook.schema.json');
const EXAMPLE = readFileSync(join(ROOT, 'oncehook.example.yaml'), 'utf8');

/** The example with the lines that show what is not built yet. */
const WHOLE_EXAMPLE = EXAMPLE.replaceAll(/^( *)#\+ ?/gm, '$1');

const env = {
  ...GOOD_ENV,
  GITHUB_WEBHOOK_SECRET: 'a secret of twenty-four bytes',
  CLINIC_SECRET: 'another secret of so many bytes',
  STANDARD_WEBHOOK_SECRET: Buffer.alloc(32, 1).toString('base64'),
  MERCHANT_EMAIL: 'owner@example.com',
  CALENDAR_URL: 'https://calendar.example/hook',
};

describe('oncehook.schema.json', () => {
  it('is what the parser checks; `vitest -u` writes it anew', async () => {
    const options = await resolveConfig(SCHEMA_FILE);
    const text = await format(JSON.stringify(configJsonSchema()), { ...options, parser: 'json' });
    await expect(text).toMatchFileSnapshot(SCHEMA_FILE);
  });

  const accepts = (text: string): boolean => {
    const schema = JSON.parse(readFileSync(SCHEMA_FILE, 'utf8')) as z.core.JSONSchema.JSONSchema;
    return z.fromJSONSchema(schema).safeParse(parse(text)).success;
  };

  it('accepts the example, with and without what is not built yet', () => {
    expect(accepts(EXAMPLE)).toBe(true);
    expect(accepts(withoutDoubles(WHOLE_EXAMPLE))).toBe(true);
  });

  it.each([
    ['an unknown key', (text: string) => `${text}dispach: { startsPerSecond: 5 }\n`],
    ['an unknown key of a source', (text: string) => text.replace('    tolerance: 300s', '    toleranc: 300s')],
    ['another version', (text: string) => text.replace('version: 1', 'version: 2')],
    ['a number for a duration', (text: string) => text.replace('firstWait: 5s', 'firstWait: 5')],
    ['a malformed source name', (text: string) => text.replace('  stripe:\n', '  Stripe:\n')],
    ['a key of another kind', (text: string) => text.replace('    mode: live', '    equalBodies: normal')],
    ['no secrets', (text: string) => text.replace(/ {4}secrets:\n.*\n/, '')],
  ])('refuses %s', (_case, spoil) => {
    expect(spoil(EXAMPLE)).not.toBe(EXAMPLE);
    expect(accepts(spoil(EXAMPLE))).toBe(false);
  });
});

describe('oncehook.example.yaml', () => {
  it('is a working configuration', () => {
    for (const role of ['receiver', 'worker'] as const) {
      const config = loadText(EXAMPLE, { env, role });
      expect(config.warnings).toEqual([]);
      expect([...config.sources.keys()]).toEqual(['stripe', 'github', 'standard', 'clinic']);
    }
  });

  it('says nothing but defaults where it does not say "example"', () => {
    const EXAMPLES =
      /^(?: {4}(?:account|mode|accounts|apiKey|owns|ignore|activeFrom|response|rateLimit)| {2}merchant|calendar): .*\n/gm;
    const { file: _file, ...spelledOut } = loadText(EXAMPLE.replaceAll(EXAMPLES, ''), { env });
    const { file: _other, ...silent } = loadText(EXAMPLE.replace(/^sources:[\s\S]*/m, SOURCES_ONLY), { env });
    expect(JSON.parse(JSON.stringify(spelledOut))).toEqual(JSON.parse(JSON.stringify(silent)));
  });

  it('is right about what is not built yet', () => {
    const { document, problems, lineOf } = readYaml(withoutDoubles(WHOLE_EXAMPLE));
    expect(problems).toEqual([]);
    const origin = { label: 'oncehook.example.yaml', lineOf };
    const config = readConfig(
      { document, file: null, origin, problems, literals: 'refused' },
      { env, role: 'worker' },
      [],
    );
    expect([...config.sources.values()].map(({ kind }) => kind)).toEqual([
      'stripe',
      'github',
      'standard-webhooks',
      'hmac',
    ]);
    expect(config.sources.get('stripe')).toMatchObject({
      shadow: false,
      owns: { metadata: new Map([['app', 'shop']]) },
    });
    expect(config.effects.email).toEqual({ mode: 'propose', perHour: 500 });
    expect(config.email.merchant).toBe('owner@example.com');
    expect(config.calendar?.url?.reveal()).toBe('https://calendar.example/hook');
    const clinic = config.sources.get('clinic') as HmacSourceConfig;
    expect(clinic.signature).toMatchObject({
      header: 'x-signature',
      prefix: 'v0=',
      timestamp: { kind: 'header', header: 'x-timestamp', unit: 's' },
    });
    expect(clinic.eventId).toEqual({ kind: 'header', header: 'x-event-id' });
    expect(clinic.challenge).toEqual({
      when: { pointer: '/type', equals: 'url_verification' },
      answer: '/challenge',
    });
  });
});

const SOURCES_ONLY = `sources:
  stripe:
    kind: stripe
    secrets: ["\${STRIPE_WEBHOOK_SECRET}"]
`;

/** Where the example shows two values of one key, the one that is not built yet. */
function withoutDoubles(text: string): string {
  return text.replace(/^ {2}email: \{ mode: auto \}.*\n/m, '');
}

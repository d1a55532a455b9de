import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { ConfigDocument } from '../../src/config/document-schema.js';
import { readConfig } from '../../src/config/parse-config.js';
import { readSecrets } from '../../src/config/read-secrets.js';
import { Secret, SecretHolder } from '../../src/config/secret.js';
import { judgeSecret } from '../../src/config/secret-rules.js';
import { filesAt, GOOD_ENV, loadText, problemsOf } from '../support/config-input.js';

const bytes = (count: number): string => Buffer.alloc(count, 7).toString('base64');
const unpadded = (count: number): string => bytes(count).replace(/=+$/, '');

/** Why a secret is refused; `undefined` when it is not. */
function faultOf(text: string, kind: 'stripe' | 'standard-webhooks'): string | undefined {
  const verdict = judgeSecret(text, kind, 'utf8');
  return verdict.kind === 'bad' ? verdict.text : undefined;
}

describe('a Stripe secret', () => {
  it.each([
    ['the shortest', 'whsec_12345678'],
    ['of the usual form', 'whsec_J4k2fVZ1mPq8tWb3xY6zA9cD0eF5gH7i'],
    ['with underscores', 'whsec_test_secret'],
  ])('is good: %s', (_case, text) => {
    expect(judgeSecret(text, 'stripe', 'utf8')).toEqual({ kind: 'good' });
  });

  it.each([
    ['', 'is empty'],
    ['whsec_', 'is a prefix without a secret'],
    ['whsec_1234567', 'has fewer than 8 characters after whsec_'],
    ['12345678901234567890', 'does not begin with whsec_'],
    ['sk_test_12345678901234567890', 'does not begin with whsec_'],
    ['WHSEC_12345678', 'does not begin with whsec_'],
    [' whsec_12345678', 'has white space'],
    ['whsec_12345678\n', 'has white space'],
    ['whsec_12345678\u00a0', 'has white space'],
    ['\ufeffwhsec_12345678', 'has white space'],
    ['whsec_1234\u00005678', 'has control characters'],
    ['whsec_1234\r\n5678', 'has control characters'],
    ['whsec_12345678,whsec_87654321', 'has a comma'],
  ])('%j is refused', (text, says) => {
    expect(faultOf(text, 'stripe')).toContain(says);
  });
});

describe('a Standard Webhooks secret', () => {
  it.each([
    ['24 bytes', `whsec_${bytes(24)}`],
    ['64 bytes', `whsec_${bytes(64)}`],
    ['25 bytes with padding', `whsec_${bytes(25)}`],
    ['25 bytes without', `whsec_${unpadded(25)}`],
    ['26 bytes without a prefix', bytes(26)],
    ['a public key', `whpk_${bytes(32)}`],
  ])('is good with %s', (_case, text) => {
    expect(judgeSecret(text, 'standard-webhooks', 'utf8')).toEqual({ kind: 'good' });
  });

  it.each([
    ['whsec_', 'is a prefix without a secret'],
    ['whpk_', 'is a prefix without a secret'],
    ['whsec_c2hvcnQ=', 'has fewer than 24 to 64 bytes'],
    [`whsec_${unpadded(23)}`, 'has fewer than 24 to 64 bytes'],
    [`whsec_${bytes(65)}`, 'has more than 24 to 64 bytes'],
    ['whsec_not base64, at all, whatever it is', 'is not base64'],
    [`whsec_${bytes(24)}=`, 'is not base64'],
    [`whsec_${'a'.repeat(33)}`, 'is not base64'],
    [`whpk_${bytes(31)}`, 'is not whpk_ and the base64 of 32 bytes'],
    [`whsk_${bytes(32)}`, 'is a private key'],
  ])('%j is refused', (text, says) => {
    expect(faultOf(text, 'standard-webhooks')).toContain(says);
  });
});

describe('a secret of another sender', () => {
  it.each([
    ['github', 'utf8', '1234567', 'bad'],
    ['github', 'utf8', '12345678', 'weak'],
    ['github', 'utf8', '1'.repeat(23), 'weak'],
    ['github', 'utf8', '1'.repeat(24), 'good'],
    ['github', 'utf8', 'é'.repeat(12), 'good'],
    ['hmac', 'utf8', '1234567', 'bad'],
    ['hmac', 'hex', '00'.repeat(7), 'bad'],
    ['hmac', 'hex', '00'.repeat(8), 'weak'],
    ['hmac', 'hex', '0F'.repeat(24), 'good'],
    ['hmac', 'hex', '0'.repeat(47), 'bad'],
    ['hmac', 'hex', 'xyz', 'bad'],
    ['hmac', 'base64', bytes(7), 'bad'],
    ['hmac', 'base64', bytes(24), 'good'],
    ['hmac', 'base64', '!'.repeat(40), 'bad'],
  ] as const)('of %s as %s: %j is %s', (kind, encoding, text, verdict) => {
    expect(judgeSecret(text, kind, encoding).kind).toBe(verdict);
  });
});

describe('what stands under secrets in a file', () => {
  const withSecrets = (list: string): string => `version: 1
sources:
  stripe: { kind: stripe, secrets: ${list} }
`;

  it.each([
    ['whsec_written-into-it', 'is a literal; write "${NAME}" (environment) or "${file:/path}"'],
    ['${STRIPE_WEBHOOK_SECRET} ', 'must be "${NAME}" or "${file:/absolute/path}" and nothing else'],
    ['${file:relative}', 'must be "${NAME}" or "${file:/absolute/path}" and nothing else'],
    ['${}', 'must be "${NAME}" or "${file:/absolute/path}" and nothing else'],
    ['$STRIPE_WEBHOOK_SECRET', 'is a literal; write "${NAME}" (environment) or "${file:/path}"'],
    ['${file:/run/none}', 'the file /run/none does not exist'],
    ['${NOT_SET}', 'the environment variable NOT_SET is not set'],
    ['${toString}', 'the environment variable toString is not set'],
    ['${EMPTY}', 'the environment variable EMPTY is empty'],
    ['${whsec_pasted_by_mistake}', 'the environment variable (name not shown) is not set'],
    ['whpk_a-public-key-of-another-kind', 'is a literal; write "${NAME}" (environment) or "${file:/path}"'],
  ])('%j is refused', (text, says) => {
    const env = { ...GOOD_ENV, EMPTY: '' };
    expect(problemsOf(() => loadText(withSecrets(JSON.stringify([text])), { env }))).toEqual([
      `oncehook.yaml:3: sources.stripe.secrets[0]: ${says}`,
    ]);
  });

  it('must be there', () => {
    for (const list of ['[]', '{}', 'null']) {
      expect(problemsOf(() => loadText(withSecrets(list)))).toHaveLength(1);
    }
    expect(problemsOf(() => loadText('version: 1\nsources: { s: { kind: stripe } }\n'))).toEqual([
      'oncehook.yaml:2: sources.s.secrets: a source must have at least one secret',
    ]);
  });

  it('is read from files, without one line break at the end and not without two', () => {
    const text = withSecrets('["${file:/run/one}", "${file:/run/two}", "${file:/run/three}"]');
    const files = {
      '/run/one': 'whsec_the-first',
      '/run/two': 'whsec_the-second\n',
      '/run/three': 'whsec_the-third\r\n',
    };
    const source = loadText(text, { files }).sources.get('stripe')!;
    expect(source.secrets.current().map((secret) => secret.reveal())).toEqual([
      'whsec_the-first',
      'whsec_the-second',
      'whsec_the-third',
    ]);
    expect(problemsOf(() => loadText(text, { files: { ...files, '/run/one': 'whsec_the-first\n\n' } }))).toEqual([
      'oncehook.yaml:3: sources.stripe.secrets[0]: the file /run/one has white space or a line break at its beginning or end',
    ]);
  });

  it('may be a public key for Standard Webhooks', () => {
    const text = `version: 1
sources:
  svix: { kind: standard-webhooks, secrets: ["whpk_${bytes(32)}"] }
`;
    expect(problemsOf(() => loadText(text)).join()).not.toContain('secrets');
    expect(problemsOf(() => loadText(text.replace('whpk_', 'whsec_'))).join()).toContain('secrets[0]: is a literal');
  });

  it('is warned of when it is there twice', () => {
    const { warnings } = loadText(withSecrets('["${STRIPE_WEBHOOK_SECRET}", "${STRIPE_WEBHOOK_SECRET}"]'));
    expect(warnings).toEqual([
      'oncehook.yaml:3: sources.stripe.secrets[1]: STRIPE_WEBHOOK_SECRET is the same secret as one before it',
    ]);
  });
});

describe('an API key', () => {
  const text = (key: string): string => `version: 1
sources:
  stripe: { kind: stripe, secrets: ["\${STRIPE_WEBHOOK_SECRET}"], apiKey: ${JSON.stringify(key)} }
`;
  const apiKey = (config: ReturnType<typeof loadText>): string | undefined => {
    const source = config.sources.get('stripe');
    return source?.kind === 'stripe' ? source.apiKey?.reveal() : undefined;
  };

  it('is read by a worker, and not even looked at by a receiver', () => {
    expect(apiKey(loadText(text('${STRIPE_API_KEY}'), { role: 'worker' }))).toBe(GOOD_ENV.STRIPE_API_KEY);
    expect(apiKey(loadText(text('${STRIPE_API_KEY}'), { role: 'receiver' }))).toBeUndefined();
    expect(loadText(text('${NOT_SET}'), { role: 'receiver' }).warnings).toEqual([]);
  });

  it('that is not set is a warning for a worker', () => {
    for (const env of [
      { ...GOOD_ENV, STRIPE_API_KEY: undefined },
      { ...GOOD_ENV, STRIPE_API_KEY: '' },
    ]) {
      const { warnings } = loadText(text('${STRIPE_API_KEY}'), { role: 'worker', env });
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('sources.stripe.apiKey: the environment variable STRIPE_API_KEY is ');
    }
  });

  it.each([
    ['sk_live_written-into-the-file', 'is a literal'],
    ['${file:/run/none}', 'the file /run/none does not exist'],
    ['${WITH_SPACE}', 'WITH_SPACE has white space or unprintable characters'],
  ])('%j is refused', (key, says) => {
    const env = { ...GOOD_ENV, WITH_SPACE: 'sk_test_123\n' };
    const problems = problemsOf(() => loadText(text(key), { role: 'worker', env }));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`sources.stripe.apiKey: ${says}`);
  });
});

describe('secrets read again', () => {
  const files: Record<string, string> = { '/run/secret': 'whsec_the-old-one' };
  const config = loadText(
    `version: 1
sources:
  stripe: { kind: stripe, secrets: ["\${file:/run/secret}"] }
`,
    { files },
  );
  const source = config.sources.get('stripe')!;

  it('replace those in force', () => {
    const fresh = readSecrets(source, { env: {}, readFile: filesAt({ '/run/secret': 'whsec_the-new-one\n' }) });
    source.secrets.replace(fresh);
    expect(source.secrets.current().map((secret) => secret.reveal())).toEqual(['whsec_the-new-one']);
  });

  it.each([
    [{}, 'the file /run/secret does not exist'],
    [{ '/run/secret': 'whsec_' }, 'the file /run/secret is a prefix without a secret'],
  ])('are refused as they would be at start, and leave those in force alone', (places, says) => {
    const before = source.secrets.current();
    expect(problemsOf(() => readSecrets(source, { env: {}, readFile: filesAt(places) }))).toEqual([
      `sources.stripe.secrets[0]: ${says}`,
    ]);
    expect(source.secrets.current()).toBe(before);
  });

  it('keep those that were given in code', () => {
    const document: ConfigDocument = {
      version: 1,
      sources: { hook: { kind: 'github', secrets: ['a secret of twenty-four bytes'] } },
    };
    const given = readConfig(
      { document, file: null, origin: { label: null, lineOf: () => undefined }, problems: [], literals: 'allowed' },
      { env: {} },
      [],
    ).sources.get('hook')!;
    const [again] = readSecrets(given, { env: {}, readFile: filesAt({}) });
    expect(again?.reveal()).toBe('a secret of twenty-four bytes');
  });
});

describe('a secret in memory', () => {
  const secret = new Secret('whsec_never-to-be-seen');
  const holder = new SecretHolder([secret]);

  it.each([
    ['inspect', inspect({ secret, holder }, { depth: 9, showHidden: true })],
    ['JSON', JSON.stringify({ secret, holder })],
    ['a template', String(secret)],
    ['its keys', JSON.stringify(Object.getOwnPropertyNames(secret))],
    ['an error that quotes it', String(new Error('bad', { cause: inspect({ secret }) }).stack)],
  ])('does not show in %s', (_case, shown) => {
    expect(shown).not.toContain('never-to-be-seen');
  });

  it('leaves by reveal alone', () => {
    expect(secret.reveal()).toBe('whsec_never-to-be-seen');
  });

  it('has a holder that is never emptied', () => {
    expect(() => {
      holder.replace([]);
    }).toThrow(RangeError);
    expect(holder.current()).toEqual([secret]);
  });
});

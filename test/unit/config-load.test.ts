import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig, requireDatabaseUrl } from '../../src/config/load-config.js';
import type { StripeSourceConfig } from '../../src/config/config.js';
import { filesAt, GOOD_ENV, GOOD_FILE, loadText, problemsOf } from '../support/config-input.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

const nothing = filesAt({});

describe('where a configuration comes from', () => {
  it('is the file that ONCEHOOK_CONFIG names, from the working directory', () => {
    const readFile = filesAt({ '/app/etc/hooks.yaml': GOOD_FILE, '/app/oncehook.yaml': 'not: this' });
    const config = loadConfig({ env: { ...GOOD_ENV, ONCEHOOK_CONFIG: 'etc/hooks.yaml' }, cwd: '/app', readFile });
    expect(config.file).toBe('/app/etc/hooks.yaml');
  });

  it('is ./oncehook.yaml when nothing is named, also by an empty variable', () => {
    const readFile = filesAt({ '/app/oncehook.yaml': GOOD_FILE });
    const config = loadConfig({ env: { ...GOOD_ENV, ONCEHOOK_CONFIG: '' }, cwd: '/app', readFile });
    expect(config.file).toBe('/app/oncehook.yaml');
  });

  it('never falls back when the named file is missing, and reports the environment all the same', () => {
    const env = { ...GOOD_ENV, ONCEHOOK_CONFIG: 'hooks.yaml', PORT: 'http' };
    expect(problemsOf(() => loadConfig({ env, cwd: '/app', readFile: nothing }))).toEqual([
      'ONCEHOOK_CONFIG: the file does not exist',
      'PORT: must be a port number, 0 to 65535; 0 takes any free one',
    ]);
  });

  it('is one source of the environment when there is no file', () => {
    const env = { ...GOOD_ENV, STRIPE_WEBHOOK_SECRET: 'whsec_first-one,whsec_second-one' };
    const config = loadConfig({ env, cwd: '/app', readFile: nothing, role: 'worker' });
    expect(config.file).toBeNull();
    expect([...config.sources.keys()]).toEqual(['stripe']);
    const source = config.sources.get('stripe') as StripeSourceConfig;
    expect(source).toMatchObject({ account: 'default', mode: 'any', tenant: 'default', handlers: 'orders' });
    expect(source.secrets.current().map((secret) => secret.reveal())).toEqual(['whsec_first-one', 'whsec_second-one']);
    expect(source.apiKey?.reveal()).toBe(GOOD_ENV.STRIPE_API_KEY);
  });

  it.each([
    ['unset', undefined, 'the environment variable STRIPE_WEBHOOK_SECRET is not set'],
    ['empty', '', 'the environment variable STRIPE_WEBHOOK_SECRET is empty'],
    ['with nothing after its comma', 'whsec_first-one,', 'STRIPE_WEBHOOK_SECRET, entry 2, is empty'],
    [
      'with a space after its comma',
      'whsec_first-one, whsec_second-one',
      'STRIPE_WEBHOOK_SECRET, entry 2, has white space or a line break at its beginning or end',
    ],
  ])('refuses to receive with STRIPE_WEBHOOK_SECRET %s', (_case, value, text) => {
    const env = { ...GOOD_ENV, STRIPE_WEBHOOK_SECRET: value };
    expect(problemsOf(() => loadConfig({ env, cwd: '/app', readFile: nothing, role: 'receiver' }))).toEqual([
      `no oncehook.yaml: sources.stripe.secrets[0]: ${text}`,
    ]);
  });

  it('lets a command work where no secret is, and says so', () => {
    const config = loadConfig({ env: { DATABASE_URL: GOOD_ENV.DATABASE_URL }, cwd: '/app', readFile: nothing });
    expect(config.sources.get('stripe')?.secrets.current()).toEqual([]);
    expect(config.warnings.join()).toContain('STRIPE_WEBHOOK_SECRET is not set');
    expect(requireDatabaseUrl(config)).toBe(GOOD_ENV.DATABASE_URL);
  });

  it('tells a command that needs a database how its URL looks', () => {
    const config = loadConfig({ env: {}, cwd: '/app', readFile: nothing });
    expect(problemsOf(() => requireDatabaseUrl(config))).toEqual([
      'DATABASE_URL: is not set; it must look like postgres://user:password@host:5432/database',
    ]);
  });
});

describe('files of the file system', () => {
  let dir = '';
  beforeAll(() => {
    dir = openTempDir();
  });
  afterAll(() => {
    removeDir(dir);
  });

  it('are read as strict UTF-8, secrets without the line break at their end', () => {
    writeFileSync(join(dir, 'secret'), 'whsec_from-a-file\n');
    writeFileSync(join(dir, 'oncehook.yaml'), GOOD_FILE.replace('${STRIPE_WEBHOOK_SECRET}', `\${file:${dir}/secret}`));
    const config = loadConfig({ env: GOOD_ENV, cwd: dir, role: 'receiver' });
    expect(config.sources.get('stripe')?.secrets.current()[0]?.reveal()).toBe('whsec_from-a-file');

    writeFileSync(join(dir, 'secret'), Buffer.from([0x77, 0xff, 0xfe]));
    expect(problemsOf(() => loadConfig({ env: GOOD_ENV, cwd: dir, role: 'receiver' }))).toEqual([
      `oncehook.yaml:5: sources.stripe.secrets[0]: the file ${dir}/secret is not UTF-8`,
    ]);
  });

  it('that are folders are refused, whether configuration or secret', () => {
    mkdirSync(join(dir, 'folder'));
    const env = { ...GOOD_ENV, ONCEHOOK_CONFIG: 'folder' };
    expect(problemsOf(() => loadConfig({ env, cwd: dir }))).toEqual(['ONCEHOOK_CONFIG: the file is a folder']);
  });

  it.skipIf(process.getuid?.() === 0)('that may not be read are refused', () => {
    const path = join(dir, 'closed.yaml');
    writeFileSync(path, GOOD_FILE);
    chmodSync(path, 0o000);
    const env = { ...GOOD_ENV, ONCEHOOK_CONFIG: path };
    expect(problemsOf(() => loadConfig({ env, cwd: dir }))).toEqual([
      'ONCEHOOK_CONFIG: the file may not be read by this user',
    ]);
  });
});

describe('the text of a file', () => {
  it('may hold no key twice, and what else is wrong is reported with it', () => {
    const text = `${GOOD_FILE}    tolerance: 1s\n    tolerance: 2s\nversion: 1\nmaxBodyMemory: -1\n`;
    expect(problemsOf(() => loadText(text))).toEqual([
      'oncehook.yaml:7: the key tolerance is there twice',
      'oncehook.yaml:8: the key version is there twice',
      'oncehook.yaml:9: maxBodyMemory: must be at least 1',
    ]);
  });

  it.each([
    [
      'a flow value without quotes',
      'version: 1\nsources: { s: { kind: stripe, secrets: [${A}] } }\n',
      2,
      'needs its quotes',
    ],
    ['a tab', 'version: 1\nsources:\n\tstripe: 1\n', 3, 'is indented with a tab'],
    ['a second document', `${GOOD_FILE}---\nversion: 1\n`, 6, 'a second one begins here'],
    ['an alias of nothing', 'version: 1\nsources: *nowhere\n', 2, 'nothing defines'],
    ['a tag', 'version: !int32 1\n', 1, 'has a tag'],
  ])('is refused with %s, by its line and without a guess at the rest', (_case, text, line, says) => {
    const problems = problemsOf(() => loadText(text));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^oncehook\\.yaml:${line}: `));
    expect(problems[0]).toContain(says);
  });

  it('is refused when its aliases expand without bound', () => {
    const levels = Array.from({ length: 9 }, (_, level) =>
      level === 0
        ? 'a0: &a0 [x, x, x, x, x, x, x, x, x]'
        : `a${level}: &a${level} [${Array(9)
            .fill(`*a${level - 1}`)
            .join(', ')}]`,
    );
    expect(problemsOf(() => loadText(levels.join('\n')))).toEqual([
      'oncehook.yaml: has aliases that expand without bound',
    ]);
  });

  it('is refused when it contains itself', () => {
    const problems = problemsOf(() => loadText(`&top\n${GOOD_FILE}orders: *top\n`));
    expect(problems.join()).toContain('is nested too deep or too large');
  });

  it('may use anchors for what sources have in common', () => {
    const text = `version: 1
sources:
  one: { kind: stripe, account: acct_1, secrets: &secrets ["\${STRIPE_WEBHOOK_SECRET}"] }
  two: { kind: stripe, account: acct_2, secrets: *secrets }
`;
    expect([...loadText(text).sources.keys()]).toEqual(['one', 'two']);
  });

  it('must hold something', () => {
    expect(problemsOf(() => loadText(''))).toEqual(['oncehook.yaml: must be a map of settings']);
  });
});

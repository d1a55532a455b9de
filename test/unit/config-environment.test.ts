import { describe, expect, it } from 'vitest';
import type { EnvironmentConfig } from '../../src/config/config.js';
import type { Role } from '../../src/config/environment.js';
import { parseMailbox } from '../../src/config/mailbox.js';
import { summarizeConfig } from '../../src/config/summarize-config.js';
import { parseMailbox as parseSender } from '../../src/providers/email-address.js';
import { GOOD_ENV, GOOD_FILE, loadText, problemsOf } from '../support/config-input.js';

function environment(env: Readonly<Record<string, string>>, role: Role = 'receiver'): EnvironmentConfig {
  return loadText(GOOD_FILE, { env: { ...GOOD_ENV, ...env }, role }).environment;
}

describe('the environment', () => {
  it('has defaults for whatever is unset or empty', () => {
    const empty = Object.fromEntries(
      ['HOST', 'PORT', 'ADMIN_HOST', 'ADMIN_PORT', 'ADMIN_TOKEN', 'LOG_LEVEL', 'STRIPE_API_BASE', 'NODE_ENV'].map(
        (name) => [name, ''],
      ),
    );
    for (const env of [{}, empty]) {
      expect(environment(env)).toMatchObject({
        host: '0.0.0.0',
        port: 3000,
        adminHost: '127.0.0.1',
        adminPort: 3001,
        adminToken: null,
        logLevel: 'info',
        stripeApiBase: null,
        temporalTaskQueue: 'oncehook',
        devDir: '.oncehook',
        production: false,
        checkpoint: null,
      });
    }
    expect(environment({}, 'worker').adminPort).toBe(3002);
  });

  it('is taken as it says', () => {
    const env = {
      HOST: '::',
      PORT: '0',
      ADMIN_HOST: '10.0.0.1',
      ADMIN_PORT: '0',
      ADMIN_TOKEN: 'a-token-of-some-length',
      LOG_LEVEL: 'debug',
      STRIPE_API_BASE: 'http://127.0.0.1:8420/',
      TEMPORAL_TASK_QUEUE: 'hooks',
      ONCEHOOK_DEV_DIR: '/var/tmp/oncehook',
      ONCEHOOK_CHECKPOINT: 'receiver.after-commit:kill',
    };
    expect(environment(env)).toMatchObject({
      host: '::',
      port: 0,
      adminHost: '10.0.0.1',
      adminPort: 0,
      logLevel: 'debug',
      stripeApiBase: 'http://127.0.0.1:8420',
      emailFrom: { address: 'shop@example.com', name: 'The Shop' },
      temporalTaskQueue: 'hooks',
      devDir: '/var/tmp/oncehook',
      checkpoint: 'receiver.after-commit:kill',
    });
  });

  it.each([
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '3000 '],
    ['PORT', '0x10'],
    ['ADMIN_PORT', '1e3'],
    ['HOST', 'http://0.0.0.0'],
    ['ADMIN_TOKEN', 'two words'],
    ['LOG_LEVEL', 'verbose'],
    ['STRIPE_API_BASE', '127.0.0.1:9999'],
    ['STRIPE_API_BASE', 'https://api.example/v1'],
    ['STRIPE_API_BASE', 'https://user:password@api.example'],
    ['TEMPORAL_TASK_QUEUE', '/_sys/queue'],
    ['TEMPORAL_TASK_QUEUE', 'two words'],
    ['EMAIL_FROM', 'somebody'],
    ['EMAIL_FROM', 'a@example.com, b@example.com'],
    ['EMAIL_FROM', 'Shop <a@example.com>\r\nBcc: b@example.com'],
    ['EMAIL_FROM', 'Shop\n <a@example.com>'],
    ['EMAIL_FROM', 'a@example.com\n'],
    ['DATABASE_URL', 'shop:password@db.example/shop'],
    ['DATABASE_URL', 'mysql://shop:password@db.example/shop'],
    ['DATABASE_URL', 'postgres://shop:password@db.example'],
    ['DATABASE_URL', 'postgres://shop:pass/word@db.example/shop'],
    ['DATABASE_URL', 'postgres://shop:12/word@db.example/shop'],
    ['DATABASE_URL', 'postgres://shop:12#word@db.example/shop'],
    ['DATABASE_URL', 'postgres://shop:12?word@db.example/shop'],
    ['DATABASE_URL', 'postgres://db.example/shop/extra'],
    ['SMTP_URL', 'http://mail.example'],
    ['SMTP_URL', 'smtp:///path'],
    ['SMTP_URL', 'smtp://shop:12/word@mail.example'],
    ['DATABASE_URL', 'postgres://db.example/shop#part'],
    ['SMTP_URL', 'smtp://shop:12#word@mail.example'],
    ['SMTP_URL', 'smtp://mail.example/path'],
  ])('refuses %s=%j with one line that does not quote it', (variable, value) => {
    const problems = problemsOf(() => environment({ [variable]: value }, 'worker'));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${variable}: (must|has)`));
    expect(problems[0]).not.toContain(value);
  });

  it.each([
    'postgresql://db.example/shop',
    'postgres://shop:p%40ss%2Fword@[::1]:5432/shop?sslmode=require',
    'postgres:///shop?host=/run/postgresql',
  ])('takes %s', (url) => {
    expect(environment({ DATABASE_URL: url }).databaseUrl?.reveal()).toBe(url);
  });

  it('refuses a checkpoint in production, and only there', () => {
    const env = { ONCEHOOK_CHECKPOINT: 'receiver.after-commit:kill', NODE_ENV: 'production' };
    expect(problemsOf(() => environment(env))).toEqual([
      'ONCEHOOK_CHECKPOINT: is for crash tests and refused with NODE_ENV=production',
    ]);
    expect(environment({ NODE_ENV: 'production' })).toMatchObject({ production: true, checkpoint: null });
  });

  it('warns of a short token, and of a stand-in that would get the keys of production', () => {
    const { warnings } = loadText(GOOD_FILE, {
      env: { ...GOOD_ENV, ADMIN_TOKEN: 'short', STRIPE_API_BASE: 'http://127.0.0.1:1', NODE_ENV: 'production' },
    });
    expect(warnings).toEqual([
      'ADMIN_TOKEN: has fewer than 16 characters: use a longer one',
      'STRIPE_API_BASE: is set in production: API keys are sent there, not to Stripe',
    ]);
  });
});

describe('what a role must have', () => {
  const without = (...names: string[]): Record<string, string | undefined> => ({
    ...GOOD_ENV,
    ...Object.fromEntries(names.map((name) => [name, undefined])),
  });
  const problems = (role: Role, env: Readonly<Record<string, string | undefined>>, lines = ''): readonly string[] =>
    problemsOf(() => loadText(GOOD_FILE + lines, { role, env }));

  it('is a database, except for a tool', () => {
    const text = ['DATABASE_URL: is not set; it must look like postgres://user:password@host:5432/database'];
    expect(problems('receiver', without('DATABASE_URL'))).toEqual(text);
    expect(problems('worker', without('DATABASE_URL'))).toEqual(text);
    expect(problems('tool', without('DATABASE_URL'))).toEqual([]);
  });

  it('is a token where others than this machine reach the operator listener', () => {
    for (const host of ['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', 'localhost.example']) {
      expect(problems('receiver', { ...GOOD_ENV, ADMIN_HOST: host })).toEqual([
        'ADMIN_TOKEN: must be set when ADMIN_HOST is not a loopback address',
      ]);
      expect(problems('worker', { ...GOOD_ENV, ADMIN_HOST: host, ADMIN_TOKEN: 'a-token-of-some-length' })).toEqual([]);
    }
    for (const host of ['127.0.0.1', '127.8.0.1', '::1', 'localhost']) {
      expect(problems('receiver', { ...GOOD_ENV, ADMIN_HOST: host })).toEqual([]);
    }
  });

  it('is two ports for a receiver', () => {
    expect(problems('receiver', { ...GOOD_ENV, PORT: '4000', ADMIN_PORT: '4000' })).toEqual([
      'ADMIN_PORT: must be another port than PORT',
    ]);
    expect(problems('receiver', { ...GOOD_ENV, PORT: '0', ADMIN_PORT: '0' })).toEqual([]);
    expect(problems('worker', { ...GOOD_ENV, PORT: '4000', ADMIN_PORT: '4000' })).toEqual([]);
  });

  it('is a mail server and a sender for a worker, while a source uses the orders set and mail is on', () => {
    const named = (problem: string): string => problem.split(':')[0] ?? '';
    expect(problems('worker', without('SMTP_URL', 'EMAIL_FROM')).map(named)).toEqual(['SMTP_URL', 'EMAIL_FROM']);
    expect(problems('worker', without('SMTP_URL')).map(named)).toEqual(['SMTP_URL']);
    expect(problems('worker', without('EMAIL_FROM'), 'email: { orderPaid: hold }\n').map(named)).toEqual([
      'EMAIL_FROM',
    ]);

    expect(problems('receiver', without('SMTP_URL', 'EMAIL_FROM'))).toEqual([]);
    expect(problems('tool', without('SMTP_URL', 'EMAIL_FROM'))).toEqual([]);
    expect(problems('worker', without('SMTP_URL', 'EMAIL_FROM'), '    handlers: none\n')).toEqual([]);
    const mails = (policies: string): readonly string[] =>
      problems('worker', without('SMTP_URL', 'EMAIL_FROM'), `email: { ${policies} }\n`).map(named);
    expect(mails('orderPaid: off')).toEqual(['SMTP_URL', 'EMAIL_FROM']);
    expect(mails('orderPaid: off, refundSucceeded: off')).toEqual([]);
    expect(mails('orderPaid: off, refundSucceeded: off, merchant: a@b.example')).toEqual(['SMTP_URL', 'EMAIL_FROM']);
    expect(mails('orderPaid: off, refundSucceeded: off, refundFailed: off, merchant: a@b.example')).toEqual([]);
    expect(problems('worker', without('SMTP_URL', 'EMAIL_FROM'), 'effects: { email: { mode: off } }\n')).toEqual([]);
  });

  it('is not said to be missing when it is malformed', () => {
    expect(problems('worker', { ...GOOD_ENV, SMTP_URL: 'mail.example' })).toHaveLength(1);
  });

  it('is an API key for a worker, or a warning', () => {
    const config = loadText(GOOD_FILE, { role: 'worker' });
    expect(config.warnings).toEqual([
      "oncehook.yaml:3: sources.stripe.apiKey: without an API key Stripe's own state cannot be fetched, and refunds stay planned",
    ]);
    expect(loadText(`${GOOD_FILE}    handlers: none\n`, { role: 'worker' }).warnings).toEqual([]);
  });
});

describe('a sender', () => {
  it.each([
    ['shop@example.com', { address: 'shop@example.com', name: null }],
    ['<shop@example.com>', undefined],
    ['The Shop <shop@example.com>', { address: 'shop@example.com', name: 'The Shop' }],
    ['"Shop, The" <shop@example.com>', { address: 'shop@example.com', name: 'Shop, The' }],
    ['Lädchen <shop+orders@mail.example.com>', { address: 'shop+orders@mail.example.com', name: 'Lädchen' }],
    ['Shop <shop@localhost>', undefined],
    ['Shop <shop@example..com>', undefined],
    ['Shop <"quoted"@example.com>', undefined],
    ['Sh"op <shop@example.com>', undefined],
    [`${'a'.repeat(65)}@example.com`, undefined],
  ])('%j is read as %j', (text, expected) => {
    expect(parseMailbox(text)).toEqual(expected);
  });

  it('that is taken here is taken by the mail itself', () => {
    for (const text of ['shop@example.com', 'The Shop <shop@example.com>', '"Shop, The" <shop@example.com>']) {
      const mailbox = parseMailbox(text)!;
      const sender = mailbox.name === null ? mailbox.address : `${mailbox.name} <${mailbox.address}>`;
      expect(parseSender(sender)).toEqual({ address: mailbox.address, name: mailbox.name ?? '' });
    }
  });
});

describe('the summary for the log', () => {
  it('shows what is in force, secrets as set or unset', () => {
    const config = loadText(`${GOOD_FILE}    accounts: { acct_9: tenant-9 }\n    apiKey: "\${STRIPE_API_KEY}"\n`, {
      role: 'worker',
      env: { ...GOOD_ENV, ADMIN_TOKEN: 'a-token-of-some-length' },
    });
    const summary = summarizeConfig(config);
    expect(summary).toMatchObject({
      file: '/app/oncehook.yaml',
      sources: {
        stripe: {
          kind: 'stripe',
          secrets: ['set'],
          apiKey: 'set',
          accounts: { acct_9: 'tenant-9' },
          toleranceMs: 300_000,
        },
      },
      environment: {
        databaseUrl: 'postgres://db.example:5432/shop',
        smtpUrl: 'smtp://mail.example:587',
        adminToken: 'set',
        port: 3000,
      },
    });
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
  });

  it('says unset', () => {
    const config = loadText(GOOD_FILE, { role: 'tool', env: {} });
    expect(summarizeConfig(config)).toMatchObject({
      sources: { stripe: { secrets: [], apiKey: 'unset' } },
      environment: { databaseUrl: 'unset', smtpUrl: 'unset', adminToken: 'unset', emailFrom: null },
    });
  });
});

import { expect } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { loadConfig, type LoadOptions } from '../../src/config/load-config.js';
import { ConfigError } from '../../src/errors.js';

/** Everything that a receiver or worker with one Stripe source needs; a test takes away or spoils one thing. */
export const GOOD_ENV = {
  STRIPE_WEBHOOK_SECRET: 'whsec_0123456789abcdef',
  STRIPE_API_KEY: 'sk_test_0123456789',
  DATABASE_URL: 'postgres://shop:db-password@db.example:5432/shop',
  SMTP_URL: 'smtp://shop:mail-password@mail.example:587',
  EMAIL_FROM: 'The Shop <shop@example.com>',
} as const;

/** The lines of one Stripe source under `sources:`. */
export const GOOD_FILE = `version: 1
sources:
  stripe:
    kind: stripe
    secrets: ["\${STRIPE_WEBHOOK_SECRET}"]
`;

/** Files by path; what is not there does not exist. */
export function filesAt(files: Readonly<Record<string, string>>): (path: string) => string {
  return (path) => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    return text;
  };
}

/** Loads `/app/oncehook.yaml` with the given text. */
export function loadText(
  text: string,
  options: LoadOptions & { files?: Readonly<Record<string, string>> } = {},
): Config {
  const { files = {}, ...rest } = options;
  const readFile = filesAt({ '/app/oncehook.yaml': text, ...files });
  return loadConfig({ env: GOOD_ENV, cwd: '/app', role: 'receiver', readFile, ...rest });
}

/** The problems that an action is refused with; none if it is not refused. */
export function problemsOf(action: () => unknown): readonly string[] {
  try {
    action();
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems;
  }
}

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config/parse-config.js';
import type { ConfigDocument } from '../../src/index.js';
import { exampleNames, exampleText } from '../support/configured.js';
import { loadText } from '../support/config-input.js';

const EXAMPLE = readFileSync(new URL('../../oncehook.example.yaml', import.meta.url), 'utf8');

/** Every `${NAME}` of a text, each with a value that any kind of secret may have. */
function envFor(text: string): Record<string, string> {
  const names = [...text.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name]) => name!);
  const secret = (name: string): string => {
    if (name.startsWith('STRIPE')) return 'whsec_0123456789abcdef';
    if (name.endsWith('URL')) return 'https://calendar.example/hook';
    if (name.endsWith('EMAIL')) return 'shop@example.com';
    return 'ab'.repeat(24);
  };
  return Object.fromEntries(names.map((name) => [name, secret(name)]));
}

const documents: [string, string][] = [
  ['oncehook.example.yaml', EXAMPLE],
  ...exampleNames().map((name): [string, string] => [`the block of ${name}`, exampleText(name)]),
];

describe('a configuration given in code is the one that the same YAML gives', () => {
  it.each(documents)('%s', (_name, text) => {
    const whole = text.includes('version:') ? text : `version: 1\n${text}`;
    const env = { ...envFor(whole), DATABASE_URL: 'postgres://shop@db.example/shop' };
    const fromFile = loadText(whole, { env });
    const inCode = parseConfig(parse(whole) as ConfigDocument, { env, role: 'receiver' });
    expect(inCode.sources.size).toBeGreaterThan(0);
    expect({ ...inCode, file: null }).toEqual({ ...fromFile, file: null, warnings: inCode.warnings });
    expect(inCode.warnings).toEqual(fromFile.warnings.map((text) => text.replace(/^oncehook\.yaml(:\d+)?: /, '')));
    for (const [name, source] of fromFile.sources) {
      const secrets = inCode.sources
        .get(name)!
        .secrets.current()
        .map((secret) => secret.reveal());
      expect(secrets).toEqual(source.secrets.current().map((secret) => secret.reveal()));
    }
  });
});

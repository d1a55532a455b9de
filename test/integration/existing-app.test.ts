import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { ROOT } from '../support/dist.js';
import { packTarball } from '../support/packed-tarball.js';
import { runIn } from '../support/run-in.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

const EXAMPLE = join(ROOT, 'examples/existing-app');
const INSTALL_LIMIT_MS = 300_000;

let app: string;
let database: TestDatabase;
let env: Record<string, string>;

/** A separate package: nothing of this repository is above it. */
beforeAll(async () => {
  app = openTempDir('existing-app-');
  database = await openDatabase();
  env = { DATABASE_URL: database.url, TEMPORAL_ADDRESS: inject('temporalAddress'), NODE_ENV: 'test' };
  for (const part of ['src', 'test', 'migrations', 'package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(EXAMPLE, part), join(app, part), { recursive: true });
  }
  const tarball = await packTarball(app);
  await runIn(app, 'npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', '--include=dev', tarball]);
}, INSTALL_LIMIT_MS);

afterAll(async () => {
  await database.drop();
  removeDir(app);
});

test('it builds against the packed package, and its own tests pass', { timeout: INSTALL_LIMIT_MS }, async () => {
  const { output } = await runIn(app, 'npm', ['test'], env);
  expect(stripVTControlCharacters(output)).toMatch(/Tests\s+6 passed \(6\)/);
});

test('its handlers are proven', { timeout: INSTALL_LIMIT_MS }, async () => {
  const { output } = await runIn(app, 'npm', ['run', 'prove', '--', '--schedules', '300'], env);
  expect(output).toMatch(/proven/i);
});

test('its webhook code is under thirty lines, and one copy of each shared package is installed', async () => {
  expect(readFileSync(join(EXAMPLE, 'src/webhooks.ts'), 'utf8').trimEnd().split('\n').length).toBeLessThan(30);
  const { stdout } = await runIn(app, 'npm', ['ls', '--all', '--json', '--loglevel=silent']);
  for (const name of ['pg', 'express', '@temporalio/client', '@temporalio/worker', '@temporalio/workflow']) {
    expect(new Set(versionsOf(name, JSON.parse(stdout) as Tree)), name).toHaveLength(1);
  }
});

interface Tree {
  readonly dependencies?: Readonly<Record<string, Tree & { readonly version?: string }>>;
}

function versionsOf(name: string, tree: Tree): readonly (string | undefined)[] {
  return Object.entries(tree.dependencies ?? {}).flatMap(([key, below]) => [
    ...(key === name ? [below.version] : []),
    ...versionsOf(name, below),
  ]);
}

import { cpSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
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
  expect(stripVTControlCharacters(output)).toMatch(/Tests\s+8 passed \(8\)/);
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

test('whatever its public types are made of comes with it', () => {
  const root = join(app, 'node_modules/oncehook');
  const { exports, dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Manifest;
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [join(root, entry.types)],
  );
  const given = { ...dependencies, ...peerDependencies };
  const packages = packagesOfTypes(entries);
  expect(packages).toContain('pg');
  const isTyped = (name: string): boolean =>
    readFileSync(join(app, 'node_modules', name, 'package.json'), 'utf8').includes('.d.ts"');
  expect(packages.filter((name) => !((isTyped(name) ? name : `@types/${name}`) in given))).toEqual([]);
});

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The packages that these declarations, and those that they import, import. */
function packagesOfTypes(files: readonly string[]): string[] {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const waiting = [...files];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import) ?\(?'([^']+)'/g)) {
      if (from.startsWith('.')) waiting.push(resolve(dirname(file), from.replace(/\.js$/, '.d.ts')));
      else if (!from.startsWith('node:'))
        packages.add(
          from
            .split('/')
            .slice(0, from.startsWith('@') ? 2 : 1)
            .join('/'),
        );
    }
  }
  return [...packages];
}

interface Tree {
  readonly dependencies?: Readonly<Record<string, Tree & { readonly version?: string }>>;
}

function versionsOf(name: string, tree: Tree): readonly (string | undefined)[] {
  return Object.entries(tree.dependencies ?? {}).flatMap(([key, below]) => [
    ...(key === name ? [below.version] : []),
    ...versionsOf(name, below),
  ]);
}

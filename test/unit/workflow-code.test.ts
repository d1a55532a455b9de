import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { workflowCode } from '../../src/temporal/create-worker.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { version: string };

let root: string;

beforeEach(() => {
  root = openTempDir();
  mkdirSync(join(root, 'dist/workflows'), { recursive: true });
});

afterEach(() => {
  removeDir(root);
});

function build(sdk: string): void {
  writeFileSync(join(root, 'dist/workflow-bundle.js'), '');
  writeFileSync(join(root, 'dist/workflow-bundle.js.sdk'), sdk);
  writeFileSync(join(root, 'dist/workflows/index.js'), '');
}

test('the bundle of the build is used by the SDK that made it', () => {
  build(version);
  expect(workflowCode(root)).toEqual({ workflowBundle: { codePath: join(root, 'dist/workflow-bundle.js') } });
});

test("another SDK, such as an application's newer one, bundles the compiled workflows anew", () => {
  build('1.0.0');
  expect(workflowCode(root)).toEqual({ workflowsPath: join(root, 'dist/workflows/index.js') });
});

test('without a build it is the source', () => {
  expect(workflowCode(root)).toEqual({ workflowsPath: join(root, 'workflows/index.ts') });
});

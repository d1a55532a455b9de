import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ROOT } from '../support/dist.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

/** A small project with our real scripts, where npm, the build and vitest only note that they were called. */
let project: string;

const LOCK = {
  packages: {
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/only-elsewhere': { version: '1.0.0', optional: true },
  },
};
const INSTALLED = { packages: { 'node_modules/a': { version: '1.0.0' } } };

beforeEach(() => {
  project = openTempDir();
  cpSync(join(ROOT, 'scripts'), join(project, 'scripts'), { recursive: true });
  write('package.json', JSON.stringify({ type: 'module' }));
  write('package-lock.json', JSON.stringify(LOCK));
  for (const file of ['tsconfig.json', 'tsconfig.build.json', 'src/one.ts', 'workflows/two.ts']) write(file, '');
  fakeNpm(`writeFileSync('node_modules/.package-lock.json', '${JSON.stringify(INSTALLED)}')`);
  fakeBuild(
    "mkdirSync('dist/src/main', { recursive: true }); writeFileSync('dist/src/main/cli.js', 'console.log(process.argv.slice(2).join(\" \"))'); markBuilt()",
  );
});

afterEach(() => {
  removeDir(project);
});

function write(path: string, text: string): void {
  const file = join(project, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const NOTE = "import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';\n";

function fakeNpm(work: string): void {
  write(
    'fake/npm.js',
    `${NOTE}appendFileSync('calls', 'npm ' + process.argv[2] + '\\n'); mkdirSync('node_modules', { recursive: true }); ${work}`,
  );
}

function fakeBuild(work: string): void {
  write(
    'scripts/build.js',
    `${NOTE}import { markBuilt } from './bootstrap.js';\nappendFileSync('calls', 'build\\n'); ${work}`,
  );
}

function fakeTool(path: string, work: string): void {
  write(`node_modules/${path}`, `${NOTE}${work}`);
}

/** What was called so far, in order. */
function calls(): string[] {
  return existsSync(join(project, 'calls')) ? readFileSync(join(project, 'calls'), 'utf8').trimEnd().split('\n') : [];
}

async function run(
  script: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [join(project, 'scripts', script), ...args], {
    cwd: project,
    env: { PATH: process.env.PATH, npm_execpath: join(project, 'fake/npm.js'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

describe('npm start', () => {
  test('installs and builds what a fresh clone lacks, then runs the stack with its arguments', async () => {
    const { code, output } = await run('start.js', ['--no-demo']);
    expect(calls()).toEqual(['npm ci', 'build']);
    expect(output.trimEnd().split('\n').at(-1)).toBe('dev --no-demo');
    expect(code).toBe(0);
  });

  test('does nothing twice', async () => {
    await run('start.js');
    const again = await run('start.js');
    expect(calls()).toEqual(['npm ci', 'build']);
    expect(again.output).toBe('dev\n');
  });

  test.each([
    [
      'changed',
      () => {
        appendFileSync(join(project, 'src/one.ts'), 'x');
      },
    ],
    [
      'new',
      () => {
        write('activities/new.ts', '');
      },
    ],
  ])('builds again for a %s source', async (_, change) => {
    await run('start.js');
    change();
    await run('start.js');
    expect(calls()).toEqual(['npm ci', 'build', 'build']);
  });

  test('installs again when the lock file wants another version, and not when it was only touched', async () => {
    await run('start.js');
    write('package-lock.json', JSON.stringify(LOCK));
    await run('start.js');
    expect(calls()).toEqual(['npm ci', 'build']);
    write('package-lock.json', JSON.stringify(LOCK).replace('1.0.0', '1.0.1'));
    await run('start.js');
    expect(calls().slice(2)).toEqual(['npm ci', 'build']);
  });

  test('two at once take turns: one installs and builds', async () => {
    fakeNpm(
      `await new Promise((done) => setTimeout(done, 500)); writeFileSync('node_modules/.package-lock.json', '${JSON.stringify(INSTALLED)}')`,
    );
    const both = await Promise.all([run('start.js'), run('start.js')]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(calls()).toEqual(['npm ci', 'build']);
  });

  test('is not kept waiting by one that was killed', async () => {
    const killed = spawn('true');
    await once(killed, 'exit');
    write('.oncehook/bootstrap.lock', String(killed.pid));
    expect((await run('start.js')).code).toBe(0);
  });

  test("has one line with npm's reason and the next step when packages cannot be had", async () => {
    fakeNpm("console.error('npm error code ENOTFOUND\\nnpm error network request failed'); process.exit(1)");
    const { code, output } = await run('start.js');
    expect(code).toBe(1);
    expect(output.trimEnd().split('\n').at(-1)).toBe(
      'oncehook: npm ci failed (network request failed): check the connection to your npm registry, then run "npm ci" to see all of it.',
    );
    expect(calls()).toEqual(['npm ci']);
  });

  test('shows what the compiler said when the build fails', async () => {
    fakeBuild("console.log('src/one.ts(1,1): error TS1: no'); process.exit(1)");
    const { code, output } = await run('start.js');
    expect(code).toBe(1);
    expect(output).toMatch(/error TS1: no\noncehook: The build failed, see above: .*\n$/);
  });
});

describe('npm test', () => {
  interface Report {
    passed?: number;
    failed?: number;
    pending?: number;
    brokenFiles?: number;
  }

  function fakeVitest({ passed = 0, failed = 0, pending = 0, brokenFiles = 0 }: Report, code: number): void {
    const report = {
      numPassedTests: passed,
      numFailedTests: failed,
      numPendingTests: pending,
      numTodoTests: 0,
      testResults: Array.from({ length: brokenFiles }, () => ({ status: 'failed', assertionResults: [] })),
    };
    const work = `
      appendFileSync('calls', process.argv.slice(2).filter((arg) => !arg.startsWith('--')).join(' ') + '\\n');
      const [, file] = process.argv.find((arg) => arg.startsWith('--outputFile')).split('=');
      writeFileSync(file, '${JSON.stringify(report)}'); process.exit(${code})`;
    fakeNpm(`writeFileSync('node_modules/.package-lock.json', '${JSON.stringify(INSTALLED)}')`);
    fakeTool('vitest/vitest.mjs', work);
  }

  function fakeChecks(lintCode: number): void {
    for (const [name, path] of [
      ['types', 'typescript/bin/tsc'],
      ['lint', 'eslint/bin/eslint.js'],
      ['format', 'prettier/bin/prettier.cjs'],
      ['imports', 'dependency-cruiser/bin/dependency-cruise.mjs'],
      ['unused', 'knip/bin/knip.js'],
    ] as const) {
      const isCommonJs = !path.endsWith('js') || path.endsWith('.cjs');
      const note = isCommonJs ? "require('node:fs')" : "(await import('node:fs'))";
      write(
        `node_modules/${path}`,
        `${note}.appendFileSync('calls', '${name}\\n'); process.exit(${name === 'lint' ? lintCode : 0})`,
      );
      if (isCommonJs) write(`node_modules/${path.split('/')[0]}/package.json`, '{}');
      else write(`node_modules/${path.split('/')[0]}/package.json`, '{"type":"module"}');
    }
  }

  const lastLine = ({ output }: { output: string }): string | undefined => output.trimEnd().split('\n').at(-1);

  test('ends with the count alone on the last line, and passes arguments to vitest', async () => {
    fakeVitest({ passed: 7 }, 0);
    const result = await run('test.js', ['test/unit']);
    expect(lastLine(result)).toBe('7 passed, 0 failed');
    expect(result.code).toBe(0);
    expect(calls()).toEqual(['npm ci', 'build', 'run test/unit']);
  });

  test('counts skipped tests only where there are some', async () => {
    fakeVitest({ passed: 7, pending: 2 }, 0);
    expect(lastLine(await run('test.js'))).toBe('7 passed, 0 failed, 2 skipped');
  });

  test('fails for a failed test', async () => {
    fakeVitest({ passed: 6, failed: 1 }, 1);
    const result = await run('test.js');
    expect(lastLine(result)).toBe('6 passed, 1 failed');
    expect(result.code).toBe(1);
  });

  test('fails for a file that does not load and for an error outside of any test', async () => {
    fakeVitest({ passed: 6, brokenFiles: 1 }, 1);
    expect(lastLine(await run('test.js'))).toBe('6 passed, 1 failed');
    fakeVitest({ passed: 6 }, 1);
    expect(lastLine(await run('test.js'))).toBe('6 passed, 1 failed');
  });

  test.each([
    ['CI=true', [], { CI: 'true' }],
    ['--all', ['--all'], {}],
  ])('with %s runs every check before the tests, and a failed one is a failure', async (_, args, env) => {
    fakeVitest({ passed: 3 }, 0);
    fakeChecks(1);
    const result = await run('test.js', args, env);
    const [install, build, ...checks] = calls();
    expect([install, build, checks.pop()]).toEqual(['npm ci', 'build', 'run']);
    // Two at a time, so in no fixed order.
    expect(checks.sort()).toEqual(['format', 'imports', 'lint', 'types', 'unused']);
    expect(result.output).toContain('check failed: lint');
    expect(lastLine(result)).toBe('3 passed, 1 failed');
    expect(result.code).toBe(1);
  });
});

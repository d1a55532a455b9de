// `npm test`: whatever a fresh clone lacks, then all tests; with CI=true or --all also what CI checks besides. Other
// arguments go to vitest. The last line counts tests, and each failed check as one failure.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap, reportFailure, ROOT, say } from './bootstrap.js';

const CHECKS = [
  ['types', 'typescript/bin/tsc', '-p', 'tsconfig.json'],
  ['lint', 'eslint/bin/eslint.js', '.', '--max-warnings', '0'],
  ['format', 'prettier/bin/prettier.cjs', '--check', '.'],
  ['import directions', 'dependency-cruiser/bin/dependency-cruise.mjs', 'src', 'workflows', 'activities'],
  ['unused code', 'knip/bin/knip.js'],
];

let running;
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => running?.kill(signal));

async function main() {
  const args = process.argv.slice(2).filter((arg) => arg !== '--all');
  const wantsAll = process.env.CI === 'true' || process.argv.includes('--all');
  await bootstrap();
  const failedChecks = wantsAll ? await runChecks() : [];
  const tests = await runTests(args);
  for (const name of failedChecks) say(`check failed: ${name}`);
  const failed = tests.failed + failedChecks.length;
  process.exitCode = failed === 0 ? 0 : 1;
  const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : '';
  console.log(`${tests.passed} passed, ${failed} failed${skipped}`);
}

async function runChecks() {
  const failed = [];
  for (const [name, script, ...args] of CHECKS) {
    say(`checking ${name}`);
    if ((await runTool(script, args)) !== 0) failed.push(name);
  }
  return failed;
}

async function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), 'oncehook-test-'));
  try {
    const report = join(folder, 'report.json');
    const code = await runTool('vitest/vitest.mjs', [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...args,
    ]);
    return count(readReport(report), code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A file that did not load has no tests to count, and an error outside of any test shows in the exit code only. */
function count(report, code) {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  const failed = report.numFailedTests + brokenFiles;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined; // vitest did not get that far
  }
}

function runTool(script, args) {
  return new Promise((resolve) => {
    running = spawn(process.execPath, [join(ROOT, 'node_modules', script), ...args], { cwd: ROOT, stdio: 'inherit' });
    running.on('error', () => resolve(1));
    running.on('close', (code) => resolve(code ?? 1));
  });
}

try {
  await main();
} catch (error) {
  reportFailure(error);
}

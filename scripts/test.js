// `npm test`: whatever a fresh clone lacks, then all tests; with CI=true or --all also what CI checks besides. Other
// arguments go to vitest. The last line counts tests, and each failed check as one failure.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap, reportFailure, ROOT, say } from './bootstrap.js';

// The longest first: they are run two at a time.
const CHECKS = [
  ['lint', 'eslint/bin/eslint.js', '.', '--max-warnings', '0'],
  ['types', 'typescript/bin/tsc', '-p', 'tsconfig.json'],
  ['format', 'prettier/bin/prettier.cjs', '--check', '.'],
  ['import directions', 'dependency-cruiser/bin/dependency-cruise.mjs', 'src', 'workflows', 'activities'],
  ['unused code', 'knip/bin/knip.js'],
];

const CHECKS_AT_ONCE = 2;

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const child of running) child.kill(signal);
  });
}

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

/** What a check says is printed when it ends, so that two at once do not mix. */
async function runChecks() {
  const failed = [];
  const waiting = [...CHECKS];
  const lane = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const [name, script, ...args] = check;
      const { code, output } = await runTool(script, args, 'pipe');
      say(`checked ${name}`);
      process.stdout.write(output);
      if (code !== 0) failed.push(name);
    }
  };
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, lane));
  return failed;
}

async function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), 'oncehook-test-'));
  try {
    const report = join(folder, 'report.json');
    const options = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const { code } = await runTool('vitest/vitest.mjs', ['run', ...options, ...args], 'inherit');
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

function runTool(script, args, stdio) {
  return new Promise((resolve) => {
    const command = [join(ROOT, 'node_modules', script), ...args];
    const child = spawn(process.execPath, command, { cwd: ROOT, stdio: ['inherit', stdio, stdio] });
    running.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += text));
    child.on('error', (error) => (output += `${error.message}\n`));
    child.on('close', (code) => {
      running.delete(child);
      resolve({ code: code ?? 1, output });
    });
  });
}

try {
  await main();
} catch (error) {
  reportFailure(error);
}

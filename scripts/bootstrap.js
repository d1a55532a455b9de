// What a fresh clone lacks: packages and a build. Plain JavaScript without packages, since there may be none yet.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
export const BUILT_FOLDERS = ['src', 'workflows', 'activities'];
const STAMP = join(ROOT, 'dist/.sources');
const LOCK = join(ROOT, '.oncehook/bootstrap.lock');

/** One line that ends with the next step, for the person at the terminal. */
export class BootstrapError extends Error {}

/** Prints a BootstrapError as one line and anything else whole, and makes the process fail. */
export function reportFailure(error) {
  console.error(error instanceof BootstrapError ? `oncehook: ${error.message}` : error);
  process.exitCode = 1;
}

export function say(line) {
  console.log(`[oncehook] ${line}`);
}

/** Packages and build as the lock file and the sources have them now. Two at once take turns. */
export async function bootstrap() {
  checkNode();
  if (packagesAreCurrent() && buildIsCurrent()) return;
  const release = await takeTurn();
  try {
    if (!packagesAreCurrent()) await installPackages();
    if (!buildIsCurrent()) await build();
  } finally {
    release();
  }
}

/** Says what the sources were that the build is made from; called when the build has ended well. */
export function markBuilt() {
  writeFileSync(STAMP, sourcesDigest());
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if ((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22) return;
  throw new BootstrapError(`Node ${process.versions.node} is too old: install Node 24 (or 20.19, 22.12 or newer).`);
}

/** By content, not by time: a checkout touches files without changing them. npm keeps what it installed in a lock file of its own. */
function packagesAreCurrent() {
  const installed = readJson('node_modules/.package-lock.json')?.packages;
  const locked = readJson('package-lock.json')?.packages;
  if (installed === undefined || locked === undefined) return false;
  const isMissing = ([path, entry]) => path !== '' && !entry.optional && installed[path] === undefined;
  const isOther = ([path, entry]) => locked[path]?.version !== entry.version;
  return !Object.entries(locked).some(isMissing) && !Object.entries(installed).some(isOther);
}

async function installPackages() {
  // NODE_ENV=production would leave out the compiler and the local database.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const [command, first] = process.env.npm_execpath ? [process.execPath, [process.env.npm_execpath]] : ['npm', []];
  const { code, output } = await runWithProgress('installing packages (npm ci)', command, [...first, ...args]);
  if (code === 0) return;
  throw new BootstrapError(
    `npm ci failed (${firstLine(output)}): check the connection to your npm registry, then run "npm ci" to see all of it.`,
  );
}

function buildIsCurrent() {
  return existsSync(STAMP) && readFileSync(STAMP, 'utf8') === sourcesDigest();
}

async function build() {
  const { code, output } = await runWithProgress('building', process.execPath, [join(ROOT, 'scripts/build.js')]);
  if (code === 0) return;
  console.error(output.trimEnd());
  throw new BootstrapError('The build failed, see above: put the sources right, then "npm run build" tries again.');
}

function sourcesDigest() {
  const hash = createHash('sha256');
  const files = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts/build.js'];
  for (const folder of BUILT_FOLDERS) files.push(...filesUnder(folder));
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  return hash.digest('hex');
}

/** Sorted, relative to the root; a folder that does not exist has none. */
export function filesUnder(folder) {
  const dir = join(ROOT, folder);
  if (!existsSync(dir)) return [];
  const entries = readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}

/** A lock file with our process ID, linked into place so that it is never seen empty; one whose process is gone is removed. */
async function takeTurn() {
  mkdirSync(dirname(LOCK), { recursive: true });
  const mine = `${LOCK}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    for (let saidSo = false; !linked(mine, LOCK); await pause(200)) {
      const holder = lockHolder();
      if (holder === undefined) continue;
      if (!isAlive(holder)) rmSync(LOCK, { force: true });
      else if (!saidSo) say(`waiting for process ${holder}, which installs or builds here`);
      saidSo = true;
    }
  } finally {
    rmSync(mine);
  }
  return () => rmSync(LOCK, { force: true });
}

function linked(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function lockHolder() {
  try {
    return Number(readFileSync(LOCK, 'utf8'));
  } catch {
    return undefined; // released meanwhile
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

async function runWithProgress(what, command, args) {
  const begun = Date.now();
  const elapsed = () => `${Math.round((Date.now() - begun) / 1000)} s`;
  say(`${what} ...`);
  const ticker = setInterval(() => say(`${what}: ${elapsed()}`), 10_000);
  try {
    const result = await run(command, args);
    if (result.code === 0) say(`${what}: done in ${elapsed()}`);
    return result;
  } finally {
    clearInterval(ticker);
  }
}

function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => resolve({ code: 1, output: error.message }));
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

function firstLine(output) {
  const lines = output.split('\n').map((line) => line.replace(/^npm (error|ERR!)\s*/, '').trim());
  return lines.find((line) => line !== '' && !line.startsWith('code ')) ?? 'it said nothing';
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
  } catch {
    return undefined;
  }
}

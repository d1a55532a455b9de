import { execFile } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { DevStackError } from '../errors.js';
import { processesWorkingIn } from './processes.js';
import type { Progress } from './progress.js';
import { canEnter, type RunAs } from './unprivileged.js';

/** The one database role of a local cluster; a superuser. */
export const SUPERUSER = 'postgres';

/** A cluster on disk: made by initdb, whether or not a server runs on it. */
export interface Cluster {
  readonly dataDir: string;
  readonly password: string;
}

export interface ClusterTools {
  /** Holds initdb. */
  readonly binDir: string;
  readonly user: RunAs | undefined;
  /** Of the server that will run on it: a test that does without fsync does without it here too. */
  readonly settings: Readonly<Record<string, string>>;
  readonly onProgress: Progress;
}

/**
 * Finds or makes the cluster that belongs to `dir` (UTF-8, locale C, password required, so that other users of this
 * machine are kept out). When the database's user cannot enter `dir` (root's project under a closed folder), the data
 * lies elsewhere and `dir/location` says where. A cluster appears under its final name only when initdb has finished.
 * The caller holds the lock of `dir`, which exists.
 */
export async function prepareCluster(dir: string, how: ClusterTools): Promise<Cluster> {
  const { user } = how;
  chmodSync(dir, user === undefined ? 0o700 : 0o711);
  const dataDir = locateData(dir, user);
  removeDrafts(dataDir);
  const password = keptPassword(dir);
  if (!existsSync(join(dataDir, 'PG_VERSION'))) {
    how.onProgress('creating a PostgreSQL cluster');
    await initialise(dataDir, password, how);
  }
  return { dataDir, password };
}

/** Deletes the cluster of `dir` for good; no server may be running on it. */
export function removeCluster(dir: string): void {
  const location = readLocation(dir);
  if (location !== undefined) rmSync(location, { recursive: true, force: true });
  rmSync(dir, { recursive: true, force: true });
}

function locateData(dir: string, user: RunAs | undefined): string {
  const inside = join(dir, 'data');
  const elsewhere = readLocation(dir);
  if (elsewhere !== undefined && existsSync(elsewhere)) return join(elsewhere, 'data');
  if (canEnter(user, dir)) return inside;
  if (existsSync(inside)) {
    throw new DevStackError(
      `The database's user can no longer enter ${dir}, where its data is: open the folders above it ("chmod o+x"), or delete ${dir} to start afresh.`,
    );
  }
  const home = newHomeOutside(dir, user);
  writeFileSync(locationFile(dir), home);
  return join(home, 'data');
}

/** Also clears homes whose project is gone, else every clone ever deleted would leave a database behind. */
function newHomeOutside(dir: string, user: RunAs | undefined): string {
  for (const parent of ['/var/lib/oncehook-dev', join(tmpdir(), 'oncehook-dev-root')]) {
    try {
      mkdirSync(parent, { recursive: true });
      chmodSync(parent, 0o711);
      if (!canEnter(user, parent)) continue;
      removeAbandoned(parent);
      const home = join(parent, createHash('sha256').update(dir).update(randomUUID()).digest('hex').slice(0, 16));
      mkdirSync(home);
      chmodSync(home, 0o711);
      writeFileSync(join(home, 'belongs-to'), dir);
      return home;
    } catch {
      continue; // read-only here: the next one
    }
  }
  throw new DevStackError(
    `Root's database user cannot enter ${dir} and nothing could be made under /var/lib: move the project to a folder that others can enter, or start as an ordinary user.`,
  );
}

function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const home = join(parent, name);
    const owner = readText(join(home, 'belongs-to'));
    const isClaimed = owner === undefined || readLocation(owner) === home;
    if (isClaimed || processesWorkingIn(join(home, 'data')).length > 0) continue;
    rmSync(home, { recursive: true, force: true });
  }
}

async function initialise(dataDir: string, password: string, how: ClusterTools): Promise<void> {
  const { user } = how;
  const draft = `${dataDir}.${randomUUID()}`;
  const passwordFile = `${draft}.password`;
  try {
    mkdirSync(draft, { mode: 0o700 });
    writeFileSync(passwordFile, password, { mode: 0o400 });
    if (user !== undefined) for (const path of [draft, passwordFile]) chownSync(path, user.uid, user.gid);
    await runInitdb(draft, passwordFile, how);
    renameSync(draft, dataDir);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Left by an initdb that was killed. */
function removeDrafts(dataDir: string): void {
  const parent = dirname(dataDir);
  const drafts = readdirSync(parent).filter((name) => name.startsWith(`${basename(dataDir)}.`));
  for (const draft of drafts) rmSync(join(parent, draft), { recursive: true, force: true });
}

async function runInitdb(dataDir: string, passwordFile: string, how: ClusterTools): Promise<void> {
  const { binDir, user, settings } = how;
  const args = [
    `--pgdata=${dataDir}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    ...(settings.fsync === 'off' ? ['--no-sync'] : []),
  ];
  try {
    await promisify(execFile)(join(binDir, 'initdb'), args, { ...user, cwd: '/', env: { PATH: process.env.PATH } });
  } catch (error) {
    throw new DevStackError(`initdb failed (${initdbComplaint(error)}): put that right and start again.`, {
      cause: error,
    });
  }
}

function initdbComplaint(error: unknown): string {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  const lines = stderr.split('\n').filter((line) => line.includes('error:'));
  return lines.length > 0 ? lines.join('; ') : stderr.trim();
}

function keptPassword(dir: string): string {
  const file = join(dir, 'password');
  const kept = readText(file);
  if (kept !== undefined) return kept;
  const password = randomBytes(24).toString('base64url');
  writeFileSync(file, password, { mode: 0o600 });
  return password;
}

function readLocation(dir: string): string | undefined {
  return readText(locationFile(dir));
}

function locationFile(dir: string): string {
  return join(dir, 'location');
}

function readText(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

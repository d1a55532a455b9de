import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeLock } from '../../src/dev/owner-lock.js';
import { removeCluster } from '../../src/dev/postgres-cluster.js';
import { killWithChildren, processesNaming } from '../../src/dev/processes.js';
import { openTempDir, removeDir } from './temp-dir.js';

const PREFIX = 'oncehook-run-';

/** The folder of this test run's servers, marked as ours for as long as we live. */
export function openRunDir(): string {
  const dir = openTempDir(PREFIX);
  takeLock(join(dir, 'owner'));
  return dir;
}

/** Ends the servers of earlier runs that were killed, and deletes what they left. */
export async function reapRuns(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    await reap(join(tmpdir(), name));
  }
}

async function reap(dir: string): Promise<void> {
  try {
    const owner = join(dir, 'owner');
    if (!existsSync(owner) || !takeLock(owner).taken) return; // a run beside ours, which perhaps begins just now
    // Their command lines name their data's place.
    for (const pid of processesNaming(`${dir}/`)) await killWithChildren(pid);
    removeCluster(join(dir, 'postgres'));
    removeDir(dir);
  } catch {
    return; // another user's, or reaped by another run at this moment
  }
}

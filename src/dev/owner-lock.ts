import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { isErrno } from './errno.js';
import { isAlive, startTime } from './processes.js';

/** Who holds a lock. The start time tells the holder from a later process with the same ID. */
interface Holder {
  readonly pid: number;
  readonly startedAt: string;
}

export type LockResult =
  | { readonly taken: true; release: () => void }
  | {
      readonly taken: false;
      /** The live process that has it. */ readonly heldBy: number;
    };

/**
 * A lock file that dies with its holder: it names the process, and one whose process is gone (kill -9) is taken over.
 * Guards a directory of ours between starts on one machine; not meant for network file systems.
 */
export function takeLock(file: string): LockResult {
  const candidate = `${file}.${randomUUID()}`;
  writeFileSync(candidate, JSON.stringify({ pid: process.pid, startedAt: startTime(process.pid) ?? '' }), {
    mode: 0o600,
  });
  try {
    for (;;) {
      if (linked(candidate, file))
        return {
          taken: true,
          release: () => {
            releaseLock(file);
          },
        };
      const found = readText(file);
      const holder = parseHolder(found);
      if (holder !== undefined && isHolderAlive(holder)) return { taken: false, heldBy: holder.pid };
      if (found !== undefined) removeStale(file, found);
    }
  } finally {
    rmSync(candidate, { force: true });
  }
}

/** Does `work` while no other process does its own under the same lock; `onWait` is told once whom it waits for. */
export async function exclusively<T>(file: string, onWait: (pid: number) => void, work: () => Promise<T>): Promise<T> {
  let saidSo = false;
  for (;;) {
    const lock = takeLock(file);
    if (lock.taken) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (!saidSo) onWait(lock.heldBy);
    saidSo = true;
    await pause(100);
  }
}

/** Hard links are made or refused in one step, so of two processes one wins. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Moved aside before it is deleted: if another process replaced the stale file meanwhile, its lock is put back. */
function removeStale(file: string, stale: string): void {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return;
    throw error;
  }
  if (readText(aside) !== stale) linked(aside, file);
  rmSync(aside, { force: true });
}

function releaseLock(file: string): void {
  if (parseHolder(readText(file))?.pid === process.pid) rmSync(file, { force: true });
}

function isHolderAlive({ pid, startedAt }: Holder): boolean {
  return isAlive(pid) && startTime(pid) === startedAt;
}

function parseHolder(text: string | undefined): Holder | undefined {
  const match = /^\{"pid":(\d+),"startedAt":"([^"]*)"\}$/.exec(text ?? '');
  return match?.[1] === undefined || match[2] === undefined
    ? undefined
    : { pid: Number(match[1]), startedAt: match[2] };
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

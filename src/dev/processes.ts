import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { isErrno } from './errno.js';

/** One line of the process table. `startedAt` tells a process from a later one that got the same ID; compare it, never read it. */
interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly zombie: boolean;
  readonly startedAt: string;
}

/** A dead process that nobody has waited for still answers signals, so asking by `kill(pid, 0)` alone would call it alive. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!isErrno(error, 'EPERM')) return false;
  }
  const row = processRow(pid);
  return row !== undefined && !row.zombie;
}

/** Opaque; equal for two reads of one process, undefined when there is none. */
export function startTime(pid: number): string | undefined {
  return processRow(pid)?.startedAt;
}

/** The arguments joined by blanks, empty when there is no such process. */
export function commandLine(pid: number): string {
  if (process.platform !== 'linux') return ps('args=', ['-ww', '-p', String(pid)]).trim();
  return readProc(`${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

export function childrenOf(pid: number): number[] {
  return processTable()
    .filter((row) => row.parent === pid && !row.zombie)
    .map((row) => row.pid);
}

/** Processes whose working directory is `dir`. Only Linux says so without a tool; elsewhere the answer is empty. */
export function processesWorkingIn(dir: string): number[] {
  if (process.platform !== 'linux') return [];
  return procPids().filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === dir && isAlive(pid);
    } catch {
      return false; // gone meanwhile, or another user's
    }
  });
}

/** Processes whose command line contains `text`, except our own. */
export function processesNaming(text: string): number[] {
  return processTable()
    .map((row) => row.pid)
    .filter((pid) => pid !== process.pid && commandLine(pid).includes(text));
}

/** Sends a signal; a process that is gone already is what was wanted. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error;
  }
}

/** True as soon as none of them runs, false when one still does after `withinMs`. */
export async function waitUntilGone(pids: readonly number[], withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (pids.some(isAlive)) {
    if (Date.now() >= deadline) return false;
    await pause(20);
  }
  return true;
}

/** Tries each signal in turn, going on to the next when the process still runs after `patienceMs`; ends with SIGKILL. */
export async function stopProcess(pid: number, signals: readonly NodeJS.Signals[], patienceMs: number): Promise<void> {
  for (const signal of signals) {
    signalProcess(pid, signal);
    if (await waitUntilGone([pid], patienceMs)) return;
  }
  await killWithChildren(pid);
}

/** SIGKILL for a process and its children. It is halted first, so that no child is born between the look and the kill. */
export async function killWithChildren(pid: number): Promise<void> {
  signalProcess(pid, 'SIGSTOP');
  const all = [pid, ...childrenOf(pid)];
  for (const one of all) signalProcess(one, 'SIGKILL');
  if (!(await waitUntilGone(all, 10_000))) throw new Error(`process ${pid} survived SIGKILL`);
}

function processRow(pid: number): ProcessRow | undefined {
  if (process.platform === 'linux') return parseStat(readProc(`${pid}/stat`));
  return parsePs(ps('pid=,ppid=,stat=,lstart=', ['-p', String(pid)]))[0];
}

function processTable(): ProcessRow[] {
  if (process.platform !== 'linux') return parsePs(ps('pid=,ppid=,stat=,lstart=', ['-ax']));
  return procPids()
    .map((pid) => parseStat(readProc(`${pid}/stat`)))
    .filter((row) => row !== undefined);
}

function procPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/**
 * proc(5): `pid (name) state ppid ...`, the number of threads is field 20, the start time field 22. The name may hold
 * blanks and brackets, so parsing begins after its last one. A process whose first thread alone has ended shows as a
 * zombie while the others still hold its files and ports.
 */
function parseStat(stat: string): ProcessRow | undefined {
  const pid = Number.parseInt(stat, 10);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent] = fields;
  const threads = Number(fields[17]);
  const startedAt = fields[19];
  if (state === undefined || parent === undefined || startedAt === undefined) return undefined;
  return { pid, parent: Number(parent), zombie: state === 'X' || (state === 'Z' && threads <= 1), startedAt };
}

function parsePs(output: string): ProcessRow[] {
  return output
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, pid, parent, state, startedAt]) => ({
      pid: Number(pid),
      parent: Number(parent),
      zombie: state?.startsWith('Z') ?? false,
      startedAt: startedAt ?? '',
    }));
}

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return ''; // gone meanwhile
  }
}

function ps(columns: string, args: readonly string[]): string {
  try {
    return execFileSync('ps', [...args, '-o', columns], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return ''; // ps exits with 1 when it found none
  }
}

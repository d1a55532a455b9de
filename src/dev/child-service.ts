import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  createWriteStream,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type WriteStream,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { DevStackError } from '../errors.js';
import type { Part } from './keep-running.js';
import { isAlive, startTime, stopProcess } from './processes.js';
import type { Progress } from './progress.js';

export interface ServicePlan {
  readonly role: 'receiver' | 'worker';
  readonly env: NodeJS.ProcessEnv;
  /** Of the stack: the pid file and the log live there. */
  readonly dir: string;
  /** Told each warning and error that the service logs, in one line. */
  readonly onTrouble: Progress;
  /** Ends a start that is under way. */
  readonly signal: AbortSignal;
}

const CLI = fileURLToPath(new URL('../main/cli.js', import.meta.url));
/** What a service logs when it does its work. */
const READY_LINE = { receiver: 'receiver ready', worker: 'worker ready' } as const;
const TROUBLE = ['warn', 'error', 'fatal'];
const NO_ENTRY = { level: '', msg: '' };
const READY_WITHIN_MS = 90_000;
const STOP_PATIENCE_MS = 20_000;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

/**
 * Starts `oncehook receiver` or `oncehook worker` in a session of its own and waits until it says that it is ready.
 * Its log lines go to `<dir>/<role>.log`.
 */
export async function startService(plan: ServicePlan): Promise<Part> {
  const child = spawn(process.execPath, ['--enable-source-maps', CLI, plan.role], {
    env: plan.env,
    detached: true, // Ctrl-C in our terminal must not reach it before us: we stop things in order
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid === undefined)
    throw new DevStackError(`The ${plan.role} could not be started: ${process.execPath} does not run.`);
  writeFileSync(pidFile(plan), `${pid} ${startTime(pid) ?? ''}`);
  const stop = async (): Promise<void> => {
    await stopProcess(pid, ['SIGTERM'], STOP_PATIENCE_MS);
    rmSync(pidFile(plan), { force: true });
  };
  try {
    await untilReady(child, plan);
  } catch (error) {
    await stop();
    throw error;
  }
  return { pid, stop };
}

async function untilReady(child: ChildProcess, plan: ServicePlan): Promise<void> {
  const { role, signal } = plan;
  const timeout = AbortSignal.timeout(READY_WITHIN_MS);
  const waiting = AbortSignal.any([signal, timeout]);
  try {
    await Promise.race([saysReady(child, plan), endsEarly(child, plan), once(waiting, 'abort')]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  signal.throwIfAborted();
  if (timeout.aborted) {
    throw new DevStackError(`The ${role} was not ready within ${READY_WITHIN_MS / 1000} s: see ${logFile(plan)}.`);
  }
}

/** Reads the service's log lines as long as it lives; done at the one that says so. */
function saysReady(child: ChildProcess, plan: ServicePlan): Promise<void> {
  const { stdout } = child;
  if (stdout === null) throw new TypeError('the child was started without a pipe');
  const log = openLog(plan);
  return new Promise((resolve) => {
    createInterface({ input: stdout })
      .on('line', (line) => {
        log.write(`${line}\n`);
        const { level, msg } = parseLogLine(line);
        if (msg === READY_LINE[plan.role]) resolve();
        if (TROUBLE.includes(level)) plan.onTrouble(`${plan.role}: ${msg}`);
      })
      .on('close', () => {
        log.end();
      });
  });
}

/** What it says at its end is in its standard error, for people. */
async function endsEarly(child: ChildProcess, { role, ...plan }: ServicePlan): Promise<void> {
  let lastWords = '';
  child.stderr?.on('data', (text: Buffer) => (lastWords = `${lastWords}${text.toString()}`.slice(-2000)));
  await once(child, 'close');
  const words = lastWords.trim().replace(/^oncehook: /, '');
  throw new DevStackError(
    `The ${role} ended before it was ready: ${words === '' ? `see ${logFile({ role, ...plan })}.` : words}`,
  );
}

/** Stops the service that a killed start left running, which still has its port. */
export async function stopServiceLeftBehind(plan: Pick<ServicePlan, 'role' | 'dir'>): Promise<void> {
  if (!existsSync(pidFile(plan))) return;
  const [pid, startedAt] = splitOnce(readFileSync(pidFile(plan), 'utf8'));
  if (!isAlive(pid) || startTime(pid) !== startedAt) return; // the number may be another program's by now
  await stopProcess(pid, ['SIGTERM'], STOP_PATIENCE_MS);
}

function splitOnce(text: string): [pid: number, startedAt: string] {
  const at = text.indexOf(' ');
  return [Number(text.slice(0, at)), text.slice(at + 1)];
}

/** Empty texts for a line that is not one of our logger's. */
function parseLogLine(line: string): { readonly level: string; readonly msg: string } {
  try {
    const value: unknown = JSON.parse(line);
    const isEntry = typeof value === 'object' && value !== null && 'level' in value && 'msg' in value;
    return isEntry ? { level: String(value.level), msg: String(value.msg) } : NO_ENTRY;
  } catch {
    return NO_ENTRY;
  }
}

function openLog(plan: ServicePlan): WriteStream {
  const file = logFile(plan);
  if (existsSync(file) && statSync(file).size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`);
  return createWriteStream(file, { flags: 'a', mode: 0o600 });
}

function logFile({ dir, role }: Pick<ServicePlan, 'role' | 'dir'>): string {
  return join(dir, `${role}.log`);
}

function pidFile({ dir, role }: Pick<ServicePlan, 'role' | 'dir'>): string {
  return join(dir, `${role}.pid`);
}

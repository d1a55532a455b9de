import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Ends the program with SIGTERM when it takes longer. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Each line of its standard error as it comes. */
  readonly onLine?: (line: string) => void;
}

export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. Rejects only when it cannot be started, was aborted or took too long; a failure is in `code`. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const { cwd = '/', env = process.env, timeoutMs, signal, onLine } = options;
  const child = spawn(command, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.any([
      ...(signal === undefined ? [] : [signal]),
      // Not spawn's own timeout: its timer outlives a program that could not be started, and keeps us alive.
      ...(timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)]),
    ]),
  });
  const out = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    out.stderr += text;
    if (onLine !== undefined) for (const line of text.split('\n')) onLine(line);
  });
  const [code] = (await once(child, 'close')) as [number | null]; // null: ended by a signal
  return { code: code ?? 1, ...out };
}

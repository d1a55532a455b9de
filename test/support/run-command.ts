import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { vi } from 'vitest';
import { runCli } from '../../src/main/run-cli.js';
import { compiled, ROOT } from './dist.js';

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs one `oncehook` command from the build, as a user does.
 * @param stop sends it a signal, once, when its stderr says this
 */
export async function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
  stop: { readonly signal: NodeJS.Signals; readonly when: string } | null = null,
): Promise<CommandResult> {
  const child = spawn(process.execPath, [compiled('src/main/cli.js'), ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
  });
  const chunks = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (chunks.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (chunks.stderr += text));
  let left = stop;
  child.stderr.on('data', () => {
    if (left === null || !chunks.stderr.includes(left.when)) return;
    child.kill(left.signal);
    left = null;
  });
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...chunks };
}

/**
 * Runs `oncehook` commands for one test file, one at a time: the first call of each command as a process from the build,
 * as a user does; further ones in this process, which spares a start each.
 */
export function commandRunner(
  env: () => Readonly<Record<string, string>>,
): (...args: readonly string[]) => Promise<CommandResult> {
  const started = new Set<string>();
  return (...args) => {
    const command = args.slice(0, 2).join(' ');
    if (started.has(command)) return runHere(args, env());
    started.add(command);
    return runCommand(args, env());
  };
}

async function runHere(args: readonly string[], env: Readonly<Record<string, string>>): Promise<CommandResult> {
  const own = process.env;
  const chunks = { stdout: '', stderr: '' };
  const streams = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      chunks[name] += String(text);
      return true;
    }),
  );
  process.env = { PATH: own.PATH, HOME: own.HOME, ...env };
  try {
    const code = await runCli(['node', 'oncehook', ...args]);
    return { code, ...chunks };
  } finally {
    process.env = own;
    for (const stream of streams) stream.mockRestore();
  }
}

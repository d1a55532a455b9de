import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ProgramResult {
  readonly stdout: string;
  /** Both streams as they came. */
  readonly output: string;
}

/**
 * Runs a program in a folder to its end.
 * @throws Error with the end of its output when it fails
 */
export async function runIn(
  cwd: string,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<ProgramResult> {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${String(code)}:\n${output.slice(-4_000)}`);
  return { stdout, output };
}

import { readdirSync, statSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../package-root.js';
import { withProgress } from './progress.js';
import { runProgram } from './run-program.js';
import { TEMPORAL_CLI_VERSION, type FetchRequest } from './temporal-fetcher.js';

/** Always the built one: under a test runner this file is its own source, beside which node finds no JavaScript. */
const PROGRAM = join(packageRoot(), 'dist', 'src', 'dev', 'temporal-download.js');
const FIRST_BYTE_WITHIN_MS = 20_000;
const WHOLE_WITHIN_MS = 15 * 60_000;

/** Lets the Temporal SDK download its CLI. Offline that fails at once; a network that swallows packets is given up after a while. */
export async function downloadTemporalCli({ dir, file, env, onProgress, signal }: FetchRequest): Promise<void> {
  const noAnswer = new AbortController();
  const watch = setTimeout(() => {
    if (sizeOf(dir) === 0) noAnswer.abort(new Error(`no answer within ${FIRST_BYTE_WITHIN_MS / 1000} s`));
  }, FIRST_BYTE_WITHIN_MS);
  try {
    const stop = AbortSignal.any([noAnswer.signal, ...(signal === undefined ? [] : [signal])]);
    const size = (): string => `, ${Math.round(sizeOf(dir) / 1e6)} MB`;
    await withProgress('downloading the Temporal CLI', onProgress, () => download(dir, file, env, stop), size);
  } catch (error) {
    noAnswer.signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(watch);
  }
}

async function download(dir: string, file: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const args = [PROGRAM, dir, `v${TEMPORAL_CLI_VERSION}`];
  const { code, stderr } = await runProgram(process.execPath, args, {
    env,
    cwd: dir,
    timeoutMs: WHOLE_WITHIN_MS,
    signal,
  });
  const downloaded = readdirSync(dir).find((name) => !name.endsWith('.downloading'));
  if (downloaded === undefined) throw new Error(code === 0 ? 'nothing came' : firstClause(stderr));
  await rename(join(dir, downloaded), file); // the SDK's trial start may have failed; the caller looks for itself
}

function sizeOf(dir: string): number {
  return readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
}

/** The SDK's message repeats itself at each level; the innermost says what happened. */
function firstClause(stderr: string): string {
  const line = stderr.split('\n').find((text) => text.includes('ailed')) ?? stderr.trim();
  return line.split(': ').slice(-2).join(': ');
}

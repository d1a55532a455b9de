import { existsSync } from 'node:fs';
import { access, constants, mkdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { DevStackError } from '../errors.js';
import { cacheDir } from './cache-dir.js';
import { exclusively } from './owner-lock.js';
import type { Progress } from './progress.js';
import { runProgram } from './run-program.js';
import { buildTemporalCli } from './temporal-build.js';
import { downloadTemporalCli } from './temporal-download-caller.js';
import { TEMPORAL_CLI_VERSION, type Fetcher } from './temporal-fetcher.js';

export interface FindOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress: Progress;
  readonly signal?: AbortSignal;
  /** By name, tried in turn; the SDK's own download, then a build with Go. */
  readonly fetchers?: Readonly<Record<string, Fetcher>>;
}

const FETCHERS = { 'download by the Temporal SDK': downloadTemporalCli, 'build with Go': buildTemporalCli };

/**
 * The path of a `temporal` program: the first that works of TEMPORAL_CLI_PATH, the PATH, the cache, and what can be fetched into
 * the cache. Throws one line with the reason of each way that failed, and the next step.
 */
export async function findTemporalCli(options: FindOptions): Promise<string> {
  const failures: string[] = [];
  for (const [name, path] of installed(options.env)) {
    const complaint = await complaintAbout(path);
    if (complaint === undefined) return path;
    failures.push(`${name}: ${complaint}`);
    options.onProgress(`${name} cannot be used: ${complaint}`);
  }
  const cache = cacheDir(options.env);
  const file = join(cache, `temporal-${TEMPORAL_CLI_VERSION}-${process.platform}-${process.arch}`);
  if (existsSync(file) || (await fetchOnce(file, options, failures))) return file;
  throw new DevStackError(
    `No Temporal CLI to run a local server with (${failures.join('; ')}): install Go, or get the CLI and set TEMPORAL_CLI_PATH to it, or set TEMPORAL_ADDRESS to a server that runs already.`,
  );
}

function* installed(env: NodeJS.ProcessEnv): Generator<[name: string, path: string]> {
  if (env.TEMPORAL_CLI_PATH !== undefined && env.TEMPORAL_CLI_PATH !== '') {
    yield ['TEMPORAL_CLI_PATH', env.TEMPORAL_CLI_PATH];
  }
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = folders.map((folder) => join(folder, 'temporal')).find((path) => existsSync(path));
  if (found !== undefined) yield ['temporal on the PATH', found];
}

/** Undefined when it is a Temporal CLI that runs here. */
async function complaintAbout(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    const { stdout } = await runProgram(path, ['--version'], { timeoutMs: 30_000 });
    return stdout.startsWith('temporal version ') ? undefined : `${path} is not the Temporal CLI`;
  } catch {
    return `${path} cannot be run`;
  }
}

/** Of several starts at once one fetches and the others wait for it: a build takes minutes of all cores. */
async function fetchOnce(file: string, options: FindOptions, failures: string[]): Promise<boolean> {
  const onWait = (pid: number): void => {
    options.onProgress(`process ${pid} is getting the Temporal CLI already: waiting for it`);
  };
  return exclusively(`${file}.lock`, onWait, async () => {
    options.signal?.throwIfAborted();
    return existsSync(file) || (await fetchByAnyWay(file, options, failures));
  });
}

async function fetchByAnyWay(file: string, options: FindOptions, failures: string[]): Promise<boolean> {
  for (const [name, fetcher] of Object.entries(options.fetchers ?? FETCHERS)) {
    try {
      await fetchInto(file, fetcher, options);
      return true;
    } catch (error) {
      options.signal?.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      failures.push(`${name}: ${reason}`);
      options.onProgress(`${name} failed: ${reason}`);
    }
  }
  return false;
}

/** The program appears under its final name only when it is whole and has been seen to run. */
async function fetchInto(file: string, fetcher: Fetcher, options: FindOptions): Promise<void> {
  const dir = `${file}.new`;
  const { env, onProgress, signal } = options;
  await rm(dir, { recursive: true, force: true }); // of one that was killed
  await mkdir(dir);
  try {
    const fetched = join(dir, 'temporal');
    await fetcher({ dir, file: fetched, env, onProgress, ...(signal === undefined ? {} : { signal }) });
    const complaint = await complaintAbout(fetched);
    if (complaint !== undefined) throw new Error(complaint);
    await rename(fetched, file);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

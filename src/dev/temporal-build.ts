import { accessSync, constants, mkdirSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { withProgress } from './progress.js';
import { runProgram } from './run-program.js';
import { TEMPORAL_CLI_VERSION, type FetchRequest } from './temporal-fetcher.js';

const MODULE = 'github.com/temporalio/cli';

/**
 * Builds the CLI from the Go module proxy. `go install` of a module at a version takes the exact dependencies of that module's own
 * go.sum. Takes some minutes of two cores, once.
 */
export async function buildTemporalCli({ dir, file, env, onProgress, signal }: FetchRequest): Promise<void> {
  const go = await goEnvironment(dir, env);
  // Without debug information; the CLI gets its version from the linker.
  const ldflags = `-s -w -X ${MODULE}/temporalcli.Version=${TEMPORAL_CLI_VERSION}`;
  const args = ['install', '-trimpath', '-ldflags', ldflags, `${MODULE}/cmd/temporal@v${TEMPORAL_CLI_VERSION}`];
  let downloads = 0;
  const onLine = (line: string): void => {
    if (line.startsWith('go: downloading')) downloads++;
  };
  const build = async (): Promise<void> => {
    const { code, stderr } = await runProgram('go', args, {
      env: go,
      cwd: dir,
      onLine,
      ...(signal === undefined ? {} : { signal }),
    });
    if (code !== 0) throw new Error(`go install failed: ${lastLine(stderr)}`);
  };
  const downloaded = (): string => `, ${downloads} modules downloaded`;
  await withProgress('building the Temporal CLI with Go (once, some minutes)', onProgress, build, downloaded);
  await rename(join(dir, 'bin/temporal'), file);
}

/** Without the caller's flags, which may forbid it, and with caches in `dir` where the usual ones cannot be written. */
async function goEnvironment(dir: string, env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const ours = { ...env, GOFLAGS: '', GOOS: '', GOARCH: '', GOBIN: join(dir, 'bin') };
  const [modules = '', builds = ''] = await goFolders(ours, dir);
  if (isWritable(modules) && isWritable(builds)) return ours;
  // Modules are read-only by default and could not be deleted again.
  return { ...ours, GOFLAGS: '-modcacherw', GOPATH: join(dir, 'go'), GOMODCACHE: '', GOCACHE: join(dir, 'go-build') };
}

async function goFolders(env: NodeJS.ProcessEnv, cwd: string): Promise<string[]> {
  try {
    const { stdout } = await runProgram('go', ['env', 'GOMODCACHE', 'GOCACHE'], { env, cwd, timeoutMs: 60_000 });
    return stdout.split('\n');
  } catch (error) {
    throw new Error('Go is not installed', { cause: error });
  }
}

function isWritable(dir: string): boolean {
  try {
    mkdirSync(dir, { recursive: true });
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import ts from 'typescript';
import { ROOT } from './dist.js';
import { openTempDir } from './temp-dir.js';

/** The version before this one, as it landed: what an upgrade meets. Moved on when the next version begins. */
export const PREVIOUS = { version: '0.3.0', commit: 'a445db52761d106a4c6f16e4141703eba0c9e7b6' };

const BUILT = ['src', 'workflows', 'activities'];
const NEEDED = [...BUILT, 'migrations', 'package.json'];

/** Why the previous version cannot be had here; `undefined` when it can. */
export function whyNoPreviousVersion(): string | undefined {
  const { status, error } = git('cat-file', '-e', `${PREVIOUS.commit}^{commit}`);
  if (error !== undefined) return 'there is no git';
  return status === 0 ? undefined : `the history here does not reach back to ${PREVIOUS.version} (${PREVIOUS.commit})`;
}

/** A file of the previous version, by its path from the root. */
export function previousFile(path: string): string {
  return git('show', `${PREVIOUS.commit}:${path}`).stdout.toString();
}

/**
 * Builds the previous version in a folder of its own, with today's packages; its types were checked when it landed.
 * @returns the folder, in which `dist/src/main/cli.js` is its program.
 */
export async function buildPreviousVersion(): Promise<string> {
  const root = openTempDir('oncehook-previous-');
  const archive = git('archive', '--format=tar', PREVIOUS.commit, '--', ...NEEDED);
  const { status } = spawnSync('tar', ['-x', '-C', root], { input: archive.stdout });
  if (archive.status !== 0 || status !== 0) throw new Error(`${PREVIOUS.version} cannot be unpacked`);
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  for (const folder of BUILT) compile(root, folder);
  const workflowsPath = join(root, 'dist/workflows/index.js');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  writeFileSync(join(root, 'dist/workflow-bundle.js'), code);
  return root;
}

function compile(root: string, folder: string): void {
  const compilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
  };
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const source = readFileSync(join(root, folder, file), 'utf8');
    const built = join(root, 'dist', folder, file.replace(/ts$/, 'js'));
    mkdirSync(dirname(built), { recursive: true });
    writeFileSync(built, ts.transpileModule(source, { compilerOptions, fileName: file }).outputText);
  }
}

function git(...args: readonly string[]): ReturnType<typeof spawnSync> & { readonly stdout: Buffer } {
  return spawnSync('git', [...args], { cwd: ROOT, maxBuffer: 256 * 1024 * 1024 });
}

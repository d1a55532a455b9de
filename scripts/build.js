// Compiles the sources to dist/ and bundles the workflows, so that a worker starts without webpack.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { BootstrapError, BUILT_FOLDERS, filesUnder, markBuilt, reportFailure, ROOT } from './bootstrap.js';

const DIST = join(ROOT, 'dist');

/** Throws when the sources do not compile. */
function compile() {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  if (!existsSync(tsc)) throw new BootstrapError('The packages are not installed: run "npm ci" first.');
  const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new BootstrapError('The sources do not compile: see above.');
  chmodSync(join(DIST, 'src/main/cli.js'), 0o755); // `npx oncehook` runs the file itself
}

/** What was compiled from sources that are gone: an import of them must fail here too, not only in a fresh clone. */
function pruneOrphans() {
  for (const folder of BUILT_FOLDERS) {
    const isOrphan = (path) => !existsSync(join(ROOT, path.replace(/\.(js|d\.ts)(\.map)?$/, '.ts')));
    for (const path of filesUnder(`dist/${folder}`)
      .map((path) => path.slice('dist/'.length))
      .filter(isOrphan)) {
      rmSync(join(DIST, path));
    }
  }
}

/** Bundle and worker must be of one SDK version; which one it was stands beside it (src/temporal/create-worker.ts). */
async function bundleWorkflows() {
  const workflowsPath = join(DIST, 'workflows/index.js');
  if (!existsSync(workflowsPath)) return console.log('no workflows/index.ts yet: no workflow bundle');
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  const sdk = createRequire(import.meta.url)('@temporalio/worker/package.json').version;
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  const bundle = join(DIST, 'workflow-bundle.js');
  writeFileSync(`${bundle}.sdk`, sdk);
  writeFileSync(`${bundle}.new`, code);
  renameSync(`${bundle}.new`, bundle); // a worker may be starting just now
}

try {
  compile();
  pruneOrphans();
  await bundleWorkflows();
  markBuilt();
} catch (error) {
  reportFailure(error);
}

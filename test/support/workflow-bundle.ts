import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';

let bundle: Promise<WorkflowBundle> | undefined;

/** The workflows as they stand in the source, bundled once a test file. */
export function bundledWorkflows(): Promise<WorkflowBundle> {
  bundle ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  });
  return bundle;
}

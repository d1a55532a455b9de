import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { NativeConnection, Worker, type WorkerOptions, type WorkflowBundlePath } from '@temporalio/worker';
import type { Activities } from '../../activities/index.js';
import { packageRoot } from '../package-root.js';
import type { TemporalSettings } from './connect.js';

export interface CreateWorkerOptions {
  readonly settings: TemporalSettings;
  readonly taskQueue: string;
  readonly activities: Activities;
  /** Activities at once; each holds at most one database connection, so the pool should have as many. */
  readonly maxActivities: number;
  /** To be used instead of one of its own, and left open. */
  readonly sharedConnection?: NativeConnection;
  /** What an application wants of the worker besides; ours comes first. */
  readonly extra?: Partial<WorkerOptions>;
}

/** A Temporal worker with the connection that it owns. */
export interface RunningWorker {
  /** Polls until shut down; rejects when the worker fails. */
  readonly run: () => Promise<void>;
  /** Asks it to finish what it has begun; `run` resolves afterwards. */
  readonly shutdown: () => void;
  readonly close: () => Promise<void>;
}

/** How long an attempt under way may go on once the worker is asked to stop. */
const SHUTDOWN_GRACE = '12 seconds';

/** A dead worker's next workflow task waits this long before another worker gets it; Temporal's default is 10 s. */
const STICKY_TIMEOUT = '5 seconds';

/** @throws the connection's error when Temporal does not answer: the caller decides how long to try. */
export async function createTemporalWorker(options: CreateWorkerOptions): Promise<RunningWorker> {
  const { settings, taskQueue, activities, maxActivities } = options;
  const connection = options.sharedConnection ?? (await NativeConnection.connect(settings.connection));
  const close = (): Promise<void> => (options.sharedConnection === undefined ? connection.close() : Promise.resolve());
  const worker = await Worker.create({
    ...options.extra,
    connection,
    namespace: settings.namespace,
    taskQueue,
    activities,
    maxConcurrentActivityTaskExecutions: maxActivities,
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT,
    shutdownGraceTime: SHUTDOWN_GRACE,
    ...(needsOwnBundle(options.extra) ? { workflowsPath: workflowsPath(packageRoot()) } : workflowCode()),
  }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    run: () => worker.run(),
    shutdown: () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
    },
    close,
  };
}

/** What a worker runs its workflows from. */
export type WorkflowCode = { readonly workflowBundle: WorkflowBundlePath } | { readonly workflowsPath: string };

/**
 * The bundle that the build made, if the worker is of the SDK version that made it: an application may have a newer
 * one. Else the workflows themselves, bundled now, which takes a second or two.
 */
export function workflowCode(root = packageRoot()): WorkflowCode {
  const codePath = join(root, 'dist', 'workflow-bundle.js');
  if (existsSync(`${codePath}.sdk`) && readFileSync(`${codePath}.sdk`, 'utf8') === sdkVersion()) {
    return { workflowBundle: { codePath } };
  }
  return { workflowsPath: workflowsPath(root) };
}

function workflowsPath(root: string): string {
  const compiled = join(root, 'dist', 'workflows', 'index.js');
  return existsSync(compiled) ? compiled : join(root, 'workflows', 'index.ts');
}

/** What goes into the workflows' sandbox has to be bundled with them; the SDK leaves it out of a bundle that is made. */
function needsOwnBundle({
  dataConverter,
  interceptors,
  bundlerOptions,
  plugins,
}: Partial<WorkerOptions> = {}): boolean {
  return (
    dataConverter?.payloadConverterPath !== undefined ||
    dataConverter?.failureConverterPath !== undefined ||
    (interceptors?.workflowModules ?? []).length > 0 ||
    bundlerOptions !== undefined ||
    (plugins ?? []).length > 0
  );
}

function sdkVersion(): string {
  // npm checked the package's shape when it installed it.
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { readonly version: string };
  return version;
}

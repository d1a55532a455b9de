import { Connection } from '@temporalio/client';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import type { Registry } from 'prom-client';
import type { Activities } from '../../activities/index.js';
import { ConfigError } from '../errors.js';
import { pollTemporal } from '../service/poll-temporal.js';
import { stopAll } from '../service/stoppable.js';
import { createWorkerService, MAX_ACTIVITIES, type WorkerService } from '../service/worker-service.js';
import { openContext, type WebhookContext, type WebhookOptions } from './webhook-options.js';

/** What goes into a Temporal worker of an application's own. */
export interface WebhookActivities {
  /** Register these, and the workflows of `oncehook/workflows`, in a worker on the options' task queue. */
  readonly activities: Activities;
  /**
   * How many of them may run at once: each takes a database connection, and one that gets none in time fails and is
   * tried again. For the worker's `maxConcurrentActivityTaskExecutions`, unless its task queue is quiet.
   */
  readonly maxConcurrent: number;
  readonly metrics: Registry;
  /**
   * Waits until the database answers and its schema fits, then starts the sweeper, which finds what was left behind.
   * @throws DatabaseUnusableError when the database can never do.
   */
  start(): Promise<void>;
  /** To be called once the worker's `run()` has returned. Finished when it returns; may be called twice. */
  stop(): Promise<void>;
}

/**
 * The processing half without a worker, for applications that run all workflows in one worker of their own.
 * @throws ConfigError with every problem at once.
 */
export function createWebhookActivities(options: WebhookOptions): WebhookActivities {
  const context = openContext(options, 'worker');
  const service = serviceOf(context, options);
  return {
    activities: service.activities,
    maxConcurrent: MAX_ACTIVITIES,
    metrics: context.metrics.registry,
    start: async () => {
      await service.start();
    },
    stop: () => stop(context, service),
  };
}

export interface WebhookWorkerOptions extends WebhookOptions {
  /** A connection to share and leave open; by default one made from the standard `TEMPORAL_*` variables. */
  readonly connection?: NativeConnection;
  /**
   * Settings of the Temporal worker that are not oncehook's own, such as a data converter or interceptors; the client
   * needs the same converter. What runs inside workflows is bundled with them at start, which takes a few seconds.
   */
  readonly workerOptions?: ExtraWorkerOptions;
}

export type ExtraWorkerOptions = Partial<Omit<WorkerOptions, (typeof OF_OURS)[number]>>;

/** What a worker of ours decides itself: among them how many attempts share its database connections. */
const OF_OURS = [
  'taskQueue',
  'namespace',
  'connection',
  'activities',
  'workflowsPath',
  'workflowBundle',
  'tuner',
  'maxConcurrentActivityTaskExecutions',
  'stickyQueueScheduleToStartTimeout',
  'shutdownGraceTime',
] as const;

/** A Temporal worker on a task queue of its own, beside others in the same process. */
export interface WebhookWorker {
  readonly metrics: Registry;
  /**
   * Polls until stopped, or until Temporal's runtime is told to end by a signal of the process: SIGINT, SIGTERM or
   * SIGQUIT, if the application has not installed it otherwise. PostgreSQL and Temporal that are not there yet are
   * waited for.
   * @throws what ended the worker, when that was neither, and what no waiting would mend.
   */
  run(): Promise<void>;
  /** Lets attempts under way end, for up to 12 s. Finished when it returns; may be called twice. */
  stop(): Promise<void>;
}

/**
 * Carries stored events on: workflows (bundled at build time), activities, sweeper.
 * @throws ConfigError with every problem at once.
 */
export function createWebhookWorker(options: WebhookWorkerOptions): WebhookWorker {
  refuseWhatIsOurs(options.workerOptions ?? {});
  const context = openContext(options, 'worker');
  const service = serviceOf(context, options);
  const { config, client, log, metrics, temporal } = context;
  const taskQueue = config.environment.temporalTaskQueue;
  const { namespace } = client.options;
  warnOfTwoServers(options, context);
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    if (!(await service.start(stopping.signal))) return;
    await pollTemporal({
      create: async () => {
        // Loaded when it runs: the SDK's native part is no business of code that only receives or defines handlers.
        const { createTemporalWorker } = await import('../temporal/create-worker.js');
        return createTemporalWorker({
          settings: { connection: temporal.connection, namespace },
          taskQueue,
          activities: service.activities,
          maxActivities: MAX_ACTIVITIES,
          ...(options.connection !== undefined && { sharedConnection: options.connection }),
          ...(options.workerOptions !== undefined && { extra: options.workerOptions }),
        });
      },
      log,
      signal: stopping.signal,
      onReady: () => {
        log.info({ taskQueue, namespace }, 'worker ready');
      },
    });
  };
  let running: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  return {
    metrics: metrics.registry,
    run: () => (running ??= run()),
    stop: () => {
      stopping.abort();
      // What ended the worker is told by `run`.
      return (stopped ??= Promise.resolve(running)
        .catch(() => undefined)
        .then(() => stop(context, service)));
    },
  };
}

/** Without types nobody has said so before. */
function refuseWhatIsOurs(workerOptions: Readonly<Record<string, unknown>>): void {
  const ours = OF_OURS.filter((name) => workerOptions[name] !== undefined);
  if (ours.length > 0) throw new ConfigError(ours.map((name) => `workerOptions.${name}: is oncehook's own`));
}

/** What is started on one server, a worker on another never sees; two names of one server are possible, though. */
function warnOfTwoServers({ client, connection }: WebhookWorkerOptions, { log, temporal }: WebhookContext): void {
  const started = client?.connection instanceof Connection ? withPort(client.connection.options.address) : undefined;
  const polled = withPort(temporal.connection.address);
  if (connection !== undefined || started === undefined || started === polled) return;
  log.warn(
    { started, polled },
    'the client and the worker talk to different addresses: give `connection` beside `client`',
  );
}

/** As the SDK fills it in. */
function withPort(address = 'localhost'): string {
  return /:\d+$/.test(address) ? address : `${address}:7233`;
}

function serviceOf(context: WebhookContext, { handlerSets = {}, operations = [] }: WebhookOptions): WorkerService {
  return createWorkerService({ ...context, handlerSets: new Map(Object.entries(handlerSets)), operations });
}

function stop({ close, log }: WebhookContext, service: WorkerService): Promise<void> {
  return stopAll(
    [
      { name: 'temporal client', stop: close },
      { name: 'worker', stop: () => service.stop() },
    ],
    log,
  );
}

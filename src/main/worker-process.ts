import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { quarantineEvent } from '../../activities/quarantine-event.js';
import type { AnyOperationDefinition } from '../api/operations.js';
import type { Config } from '../config/config.js';
import { requireDatabaseUrl } from '../config/index.js';
import { createPool } from '../db/pool.js';
import { addProcessMetrics, createMetrics } from '../observability/metrics.js';
import type { Logger } from '../observability/logger.js';
import { claimDueOperations, returnOperations } from '../operations/claim-due.js';
import { createSweeper } from '../maintenance/sweeper.js';
import { startSweepLoop } from '../maintenance/sweep-loop.js';
import { loadMailTemplates } from '../providers/email-templates/load-templates.js';
import { emailOperation } from '../providers/email.js';
import { httpOperation, type HttpTarget } from '../providers/http-operation.js';
import { createSmtpTransport } from '../providers/smtp-transport.js';
import { createStripeAccess } from '../providers/stripe-access.js';
import { stripeCancelOperation } from '../providers/stripe-cancel.js';
import { stripeRefundOperation } from '../providers/stripe-refund.js';
import { createTemporalClient, loadTemporalSettings } from '../temporal/connect.js';
import { createTemporalWorker, type RunningWorker } from '../temporal/create-worker.js';
import { watchSearchAttributes } from '../temporal/watch-search-attributes.js';
import { failedTaskAttempts, terminateRun } from '../temporal/stuck-runs.js';
import { createWorkflowStarts, isUnanswered } from '../temporal/workflow-starts.js';
import { createWorkerActivities } from '../worker.js';
import { startAdminServer } from './admin-server.js';
import { untilDatabaseReady } from './database-gate.js';
import { effectBrakes } from './effect-brakes.js';
import type { ProcessContext } from './process-context.js';
import { stopAll, untilAskedToStop, type Stoppable } from './shutdown.js';
import { builtInHandlerSets, stripeAccesses, workerSources } from './worker-sources.js';

/** Activities at once, each with a connection of its own; the sweeper and the gate have the rest of the pool. */
const MAX_ACTIVITIES = 16;
const POOL_SIZE = MAX_ACTIVITIES + 4;

/** Above a handler's 5 s, below the activity's 15 s: a statement that hangs is ended by the server. */
const STATEMENT_TIMEOUT_MS = 6_000;
/** A lock that is not had in this time is the infrastructure's trouble, and tried again. */
const LOCK_TIMEOUT_MS = 3_000;

/** As for mails: a receiver that is down over a weekend still gets what it missed. */
const HTTP_GIVE_UP_MS = 3 * 24 * 3_600_000;

const START_DEADLINE_MS = 2_000;
const CONNECT_PAUSE_MS = 1_000;

/** Runs a worker with its sweeper until it is asked to stop. */
export async function runWorker({ config, env, log, checkpoints }: ProcessContext): Promise<void> {
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      const { error: _text, ...fields } = meta ?? {};
      log[level === 'ERROR' ? 'error' : 'warn']({ temporal: fields }, message);
    }),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
  });
  const metrics = createMetrics();
  addProcessMetrics(metrics);
  const { adminHost, adminPort, adminToken, temporalTaskQueue: taskQueue } = config.environment;
  const settings = loadTemporalSettings(env);
  const pool = createPool({
    url: requireDatabaseUrl(config),
    applicationName: 'oncehook worker',
    max: POOL_SIZE,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    log,
  });
  const { client, close } = createTemporalClient(settings);
  const attributes = watchSearchAttributes(client, settings.namespace, log);
  const operations = operationKinds(config);
  const activities = createWorkerActivities({
    pool,
    sources: workerSources(config, builtInHandlerSets(config)),
    operations,
    brakeOf: effectBrakes(
      config,
      operations.map(({ kind }) => kind),
    ),
    wait: {
      firstWaitMs: config.orders.firstWaitMs,
      maxWaitMs: config.orders.maxWaitMs,
      horizonMs: config.orders.unknownOrderHorizonMs,
    },
    searchAttributes: attributes.known,
    checkpoints,
    log,
    metrics,
  });
  const starts = createWorkflowStarts({ client, taskQueue, deadlineMs: START_DEADLINE_MS });
  const sweeper = createSweeper({
    pool,
    startEvent: starts.startEvent,
    startOperation: starts.startOperation,
    claimOperations: (limit) => claimDueOperations(pool, limit),
    returnOperations: (keys) => returnOperations(pool, keys),
    isUnanswered,
    failedTaskAttempts: (event) => failedTaskAttempts(client, event),
    giveUpOnRun: async (event) => {
      await quarantineEvent(
        { pool, searchAttributes: attributes.known, metrics },
        { ...event, reason: 'workflow_stuck', replay: null },
      );
      await terminateRun(client, event, 'workflow_stuck');
    },
    checkpoints,
    log,
    metrics,
  });

  const parts: Stoppable[] = [
    { name: 'temporal client', stop: close },
    { name: 'database pool', stop: () => pool.end() },
    { name: 'search attributes', stop: attributes.stop },
  ];
  const stopping = new AbortController();
  const asked = untilAskedToStop(log).then(() => {
    stopping.abort();
  });
  try {
    parts.push(await startAdminServer({ metrics, token: adminToken?.reveal(), host: adminHost, port: adminPort, log }));
    await untilDatabaseReady(pool, log, stopping.signal);
    if (stopping.signal.aborted) return;
    const loop = startSweepLoop({ sweeper, startsPerSecond: config.dispatch.startsPerSecond, log });
    parts.push({ name: 'sweeper', stop: loop.stop });
    const worker = await connectWorker(
      () => createTemporalWorker({ settings, taskQueue, activities, maxActivities: MAX_ACTIVITIES }),
      log,
      stopping.signal,
    );
    if (worker === undefined) return;
    parts.push({ name: 'temporal connection', stop: worker.close });
    log.info({ taskQueue, namespace: settings.namespace }, 'worker ready');
    await runUntil(worker, asked);
  } finally {
    await stopAll(parts, log);
  }
}

/** Temporal that is down at start is waited for: the sweeper has nothing to start it with either. */
async function connectWorker(
  create: () => Promise<RunningWorker>,
  log: Logger,
  signal: AbortSignal,
): Promise<RunningWorker | undefined> {
  for (let said = false; !signal.aborted; said = true) {
    try {
      return await create();
    } catch (error) {
      if (!said)
        log.warn({ err: error }, 'waiting: Temporal does not answer; is it running, and is TEMPORAL_ADDRESS right?');
      await sleep(CONNECT_PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  return undefined;
}

async function runUntil(worker: RunningWorker, asked: Promise<void>): Promise<void> {
  const running = worker.run();
  await Promise.race([running, asked]);
  worker.shutdown();
  await running;
}

function operationKinds(config: Config): readonly AnyOperationDefinition[] {
  const connect = createStripeAccess({
    sources: stripeAccesses(config),
    apiBase: config.environment.stripeApiBase,
  });
  return [
    stripeRefundOperation(connect),
    stripeCancelOperation(connect),
    ...mailKinds(config),
    httpOperation({ targets: httpTargets(config), giveUpAfterMs: HTTP_GIVE_UP_MS }),
  ];
}

/** Under the names that the built-in handler sets use. */
function httpTargets({ calendar }: Config): ReadonlyMap<string, HttpTarget> {
  const url = calendar?.url ?? null;
  return new Map(url === null ? [] : [['calendar', { url: () => url.reveal() }]]);
}

function mailKinds(config: Config): readonly AnyOperationDefinition[] {
  const { smtpUrl, emailFrom } = config.environment;
  // Where mail is on, the configuration has demanded both for a worker.
  if (smtpUrl === null || emailFrom === null) return [];
  return [
    emailOperation({
      transport: createSmtpTransport(smtpUrl.reveal()),
      from: emailFrom.name === null ? emailFrom.address : `${emailFrom.name} <${emailFrom.address}>`,
      policies: {
        orderPaid: config.email.orderPaid,
        refundSucceeded: config.email.refundSucceeded,
        refundFailed: config.email.refundFailed,
      },
      ...(config.email.templates === null ? {} : { templates: loadMailTemplates(config.email.templates) }),
      giveUpAfterMs: config.email.giveUpAfterMs,
    }),
  ];
}

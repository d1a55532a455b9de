import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { NamespaceNotFoundError } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import pg from 'pg';
import { requireDatabaseUrl, type Config } from '../config/index.js';
import { checkDatabase } from '../db/check-database.js';
import { isConnectionError } from '../db/error-kinds.js';
import { describeSchema, isFit, type SchemaReport } from '../db/schema-report.js';
import { CommandError, DatabaseUnusableError } from '../errors.js';
import { createTemporalClient, loadTemporalSettings, type TemporalSettings } from '../temporal/connect.js';
import { workflowCode, type WorkflowCode } from '../temporal/create-worker.js';
import {
  causeOfFailure,
  grpcFailureOf,
  INVALID_ARGUMENT,
  PERMISSION_DENIED,
  UNAUTHENTICATED,
} from '../temporal/grpc-failure.js';
import { replayOpenRuns, type ReplayReport } from '../temporal/replay-open-runs.js';
import { packageVersion } from './package-version.js';

export interface UpgradeCheckOptions {
  readonly query?: string;
  readonly limit?: number;
  readonly workflowBundle?: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;

/** One half of the check: what it found, or why it could not look. */
export type Half<Found> = { readonly checked: true; readonly found: Found } | Unchecked;

interface Unchecked {
  readonly checked: false;
  readonly problem: string;
}

export interface UpgradeReport {
  /** The version that is checked against: the program's own. */
  readonly version: string;
  readonly ok: boolean;
  readonly histories: Half<ReplayReport>;
  readonly schema: Half<SchemaReport>;
}

/**
 * Asks the cluster and the database what would happen if this version took over now. Reads only.
 * @throws CommandError (usage) for options that cannot be right; CommandError (failed) for a bundle that does not load.
 */
export async function checkUpgrade(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  options: UpgradeCheckOptions,
  onProgress: (done: number, of: number) => void,
): Promise<UpgradeReport> {
  requireDatabaseUrl(config);
  const code = codeToReplayOn(options);
  // One after the other: a replay keeps the process busy, and the database's answer must not time out over it.
  const schema = await lookAtSchema(config);
  const histories = await lookAtHistories(config, loadTemporalSettings(env), code, options, onProgress);
  const ok = schema.checked && isFit(schema.found) && histories.checked && histories.found.failed.length === 0;
  return { version: packageVersion(), ok, histories, schema };
}

function codeToReplayOn({ workflowBundle }: UpgradeCheckOptions): WorkflowCode {
  if (workflowBundle === undefined) return workflowCode();
  const codePath = resolve(workflowBundle);
  if (existsSync(codePath)) return { workflowBundle: { codePath } };
  throw new CommandError('usage', `--workflow-bundle: there is no file ${workflowBundle}`);
}

/** What it would log of a run that fails is in the report. It is gone again when a replay is over. */
function silenceSdk(): void {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
    shutdownSignals: [],
  });
}

async function lookAtSchema(config: Config): Promise<Half<SchemaReport>> {
  const client = new pg.Client({
    connectionString: requireDatabaseUrl(config),
    application_name: 'oncehook upgrade',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
  });
  client.on('error', () => undefined); // a connection that is lost fails its query, which is enough
  try {
    await client.connect();
    await client.query('begin transaction isolation level repeatable read, read only');
    await checkDatabase(client);
    return { checked: true, found: await describeSchema(client, packageVersion()) };
  } catch (error) {
    return { checked: false, problem: databaseProblem(error) };
  } finally {
    await client.end();
  }
}

function databaseProblem(error: unknown): string {
  if (error instanceof DatabaseUnusableError) return error.message;
  const says = error instanceof Error ? error.message : String(error);
  return isConnectionError(error)
    ? 'PostgreSQL does not answer: is it running, and is DATABASE_URL right?'
    : `PostgreSQL refuses the look at schema oncehook (${says}): does the role in DATABASE_URL own it?`;
}

async function lookAtHistories(
  config: Config,
  settings: TemporalSettings,
  code: WorkflowCode,
  { query, limit, workflowBundle }: UpgradeCheckOptions,
  onProgress: (done: number, of: number) => void,
): Promise<Half<ReplayReport>> {
  const { client, close } = createTemporalClient(settings);
  try {
    const found = await replayOpenRuns({
      client,
      code,
      taskQueue: config.environment.temporalTaskQueue,
      query,
      // A bundle of the user's own may hold workflows of the user's own: then the query says which.
      everyType: workflowBundle !== undefined && query !== undefined,
      limit,
      beforeReplay: silenceSdk,
      onProgress,
    });
    return { checked: true, found };
  } catch (error) {
    // A bundle that does not load leaves the SDK's native part idle, which would keep the process from ending.
    if (error instanceof CommandError) await Runtime.instance().shutdown();
    return { checked: false, problem: temporalProblem(error, settings, query) };
  } finally {
    await close();
  }
}

function temporalProblem(error: unknown, { namespace }: TemporalSettings, query: string | undefined): string {
  if (error instanceof CommandError) throw error;
  if (error instanceof NamespaceNotFoundError) {
    return `Temporal has no namespace ${namespace}: is TEMPORAL_NAMESPACE right?`;
  }
  const failure = grpcFailureOf(error);
  const says = firstLine(failure?.details ?? String(causeOfFailure(error)));
  if (failure?.code === INVALID_ARGUMENT && query !== undefined) {
    throw new CommandError('usage', `--query: Temporal refuses it (${says})`);
  }
  if (failure?.code === PERMISSION_DENIED || failure?.code === UNAUTHENTICATED) {
    return `Temporal does not let us read namespace ${namespace} (${says}): use a key or certificate with read access`;
  }
  return `Temporal does not answer (${says}): is it running, and is TEMPORAL_ADDRESS right?`;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

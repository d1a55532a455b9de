import type { Pool } from 'pg';
import { inertCheckpoints, type CheckpointHook } from '../../src/checkpoints.js';
import { schemaState } from '../../src/db/migrate.js';
import { createPool } from '../../src/db/pool.js';
import type { ProcessWebhookEventInput } from '../../src/domain/event.js';
import { INSERT_STATEMENT_TIMEOUT_MS } from '../../src/inbox/commit-batch.js';
import { createLogger } from '../../src/observability/logger.js';
import { createMetrics, type Metrics } from '../../src/observability/metrics.js';
import { createReceiver, type Receiver, type ReceiverConfig, type ReceiverSourceConfig } from '../../src/receiver.js';

export const SECRET = 'whsec_receiver_under_test';

/** A line of the receiver's log, parsed. */
export type LogLine = Readonly<Record<string, unknown>>;

export interface RunningReceiver {
  readonly receiver: Receiver;
  readonly port: number;
  readonly pool: Pool;
  readonly metrics: Metrics;
  /** Everything logged so far, in order. */
  readonly lines: LogLine[];
  /** Every event handed to dispatch so far, in order. */
  readonly dispatched: ProcessWebhookEventInput[];
  /** Stops the receiver and ends its pool; may be called twice. */
  stop(): Promise<void>;
}

type StripeReceiverConfig = Extract<ReceiverSourceConfig, { kind: 'stripe' }>;

export interface ReceiverSettings {
  /** Instead of one source `stripe` and what follows of sources. */
  readonly config?: ReceiverConfig;
  /** Of the one source `stripe`. */
  readonly source?: Partial<StripeReceiverConfig>;
  /** Beside it, by name. */
  readonly others?: readonly ReceiverSourceConfig[];
  readonly maxBodyMemory?: number;
  readonly checkpoints?: CheckpointHook;
  readonly now?: () => number;
  readonly poolMax?: number;
  /** Told of every event that is handed to dispatch. */
  readonly onDispatch?: (event: ProcessWebhookEventInput) => void;
}

/** A receiver with one source `stripe` on a port of its own; each setting spoils one thing. */
export async function startReceiver(url: string, settings: ReceiverSettings = {}): Promise<RunningReceiver> {
  const lines: LogLine[] = [];
  const dispatched: ProcessWebhookEventInput[] = [];
  const log = createLogger('debug', 'test', { write: (line) => lines.push(JSON.parse(line) as LogLine) });
  const metrics = createMetrics();
  const pool = createPool({
    url,
    applicationName: 'oncehook receiver under test',
    max: settings.poolMax ?? 5,
    statementTimeoutMs: INSERT_STATEMENT_TIMEOUT_MS,
    log,
  });
  const receiver = createReceiver({
    config: settings.config ?? receiverConfig(settings),
    pool,
    log,
    metrics,
    checkpoints: settings.checkpoints ?? inertCheckpoints,
    dispatch: (event) => {
      dispatched.push(event);
      settings.onDispatch?.(event);
    },
    schemaCheck: () => withClient(pool, schemaState),
    temporalCheck: () => Promise.resolve('unknown'),
    ...(settings.now === undefined ? {} : { now: settings.now }),
  });
  const { port } = await receiver.listen({ host: '127.0.0.1', port: 0 });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await receiver.stop();
    await pool.end();
  };
  return { receiver, port, pool, metrics, lines, dispatched, stop: () => (stopped ??= stop()) };
}

function receiverConfig({ source, others = [], maxBodyMemory = 128 * 1024 * 1024 }: ReceiverSettings): ReceiverConfig {
  const stripe: StripeReceiverConfig = {
    kind: 'stripe',
    name: 'stripe',
    account: 'acct_1',
    mode: 'any',
    tenant: 'default',
    accounts: new Map(),
    ignore: [],
    secrets: secretsOf(SECRET),
    toleranceMs: 300_000,
    maxBodyBytes: 1024 * 1024,
    rateLimit: undefined,
    response: undefined,
    ...source,
  };
  return { sources: new Map([stripe, ...others].map((each) => [each.name, each])), maxBodyMemory };
}

export function secretsOf(...secrets: readonly string[]): ReceiverSourceConfig['secrets'] {
  return { current: () => secrets.map((secret) => ({ reveal: () => secret })) };
}

async function withClient<Result>(pool: Pool, body: (client: Pick<Pool, 'query'>) => Promise<Result>): Promise<Result> {
  return body(pool);
}

import pg from 'pg';
import type { Logger } from '../observability/logger.js';

/** A connection that does not come up in this time counts as down, in milliseconds. */
const CONNECT_TIMEOUT_MS = 1_000;
/** How long a caller waits for a free connection, in milliseconds. */
const CHECKOUT_TIMEOUT_MS = 1_500;

export interface PoolOptions {
  readonly url: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly max: number;
  /** Server-side limit of every statement in these sessions, in milliseconds. */
  readonly statementTimeoutMs: number;
  /** How long a statement waits for a lock, in milliseconds; without it, as long as a statement may take. */
  readonly lockTimeoutMs?: number;
  readonly log: Logger;
}

/**
 * A pool whose sessions are safe to promise durability on: `synchronous_commit` is on whatever the role's or the
 * database's default says, times are UTC, and nothing waits without a bound.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const { url, applicationName, max, log } = options;
  const pool = new pg.Pool({
    connectionString: url,
    application_name: applicationName,
    max,
    connectionTimeoutMillis: CHECKOUT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    Client: class extends pg.Client {
      constructor(config?: string | pg.ClientConfig) {
        super(typeof config === 'object' ? { ...config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS } : config);
        // A connection cut while checked out emits here as well as failing its query; unheard, it would end the process.
        this.on('error', (error) => {
          log.debug({ err: error }, 'database connection lost');
        });
      }
    },
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- pg-pool 3.10+ awaits it; its types lag behind
    onConnect: (client) => prepareSession(client, options),
  });
  pool.on('error', (error) => {
    log.warn({ err: error }, 'idle database connection lost');
  });
  return pool;
}

async function prepareSession(
  client: pg.ClientBase,
  { statementTimeoutMs, lockTimeoutMs }: PoolOptions,
): Promise<void> {
  const settings = [
    'set synchronous_commit = on',
    "set timezone = 'UTC'",
    `set statement_timeout = ${statementTimeoutMs}`,
    `set lock_timeout = ${lockTimeoutMs ?? 0}`,
    "set idle_in_transaction_session_timeout = '30s'",
  ];
  // `query_timeout` is honoured per query by pg, and missing from its types.
  const query: pg.QueryConfig & { query_timeout: number } = {
    text: settings.join(';'),
    query_timeout: CONNECT_TIMEOUT_MS,
  };
  await client.query(query);
}

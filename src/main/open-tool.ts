import type { Pool } from 'pg';
import { loadConfig, requireDatabaseUrl, type Config } from '../config/index.js';
import { createPool } from '../db/pool.js';
import { createLogger } from '../observability/logger.js';
import { createTemporalClient, loadTemporalSettings } from '../temporal/connect.js';
import { createWorkflowStarts, type WorkflowStarts } from '../temporal/workflow-starts.js';

/** What a command works with; nothing connects before it is used. */
export interface Tool extends Pick<WorkflowStarts, 'signalEvent' | 'wakeOperation'> {
  readonly pool: Pool;
  close(): Promise<void>;
}

/** A person waits: long enough for a slow listing, short enough to notice that nobody answers; in milliseconds. */
const STATEMENT_TIMEOUT_MS = 30_000;
const SIGNAL_DEADLINE_MS = 10_000;

/** @throws ConfigError, with DATABASE_URL among its problems when it is missing. */
function openTool(): Tool {
  const config = loadConfig({ env: process.env, cwd: process.cwd(), role: 'tool' });
  const pool = openPool(config);
  const temporal = createTemporalClient(loadTemporalSettings(process.env));
  const { signalEvent, wakeOperation } = createWorkflowStarts({
    client: temporal.client,
    taskQueue: config.environment.temporalTaskQueue,
    deadlineMs: SIGNAL_DEADLINE_MS,
  });
  return {
    pool,
    signalEvent,
    wakeOperation,
    close: async () => {
      await Promise.all([pool.end(), temporal.close()]);
    },
  };
}

/** A command's own connections. @throws ConfigError without DATABASE_URL. */
export function openPool(config: Config): Pool {
  return createPool({
    url: requireDatabaseUrl(config),
    applicationName: 'oncehook command',
    max: 2,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    log: createLogger(config.environment.logLevel, 'command', process.stderr),
  });
}

/** Runs a command with its connections, and closes them however it ends. */
export async function withTool(body: (tool: Tool) => Promise<void>): Promise<void> {
  const tool = openTool();
  try {
    await body(tool);
  } finally {
    await tool.close();
  }
}

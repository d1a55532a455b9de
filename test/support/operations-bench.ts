import { createHash } from 'node:crypto';
import type pg from 'pg';
import { Registry } from 'prom-client';
import {
  createPerformOperation,
  type AttemptLimits,
  type PerformOperation,
} from '../../activities/perform-operation.js';
import type { CheckpointHook } from '../../src/checkpoints.js';
import { createPool } from '../../src/db/pool.js';
import { inTransaction } from '../../src/db/transaction.js';
import type { OperationStatus } from '../../src/domain/operation.js';
import type { PlannedOperation } from '../../src/domain/outcome.js';
import type { AnyOperationDefinition } from '../../src/index.js';
import { createLogger } from '../../src/observability/logger.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { planOperations, type PlanInput, type PlanResult } from '../../src/operations/plan-operations.js';
import { NO_BRAKE, type Brake, type EffectMode } from '../../src/operations/brake.js';
import { createOperationRegistry } from '../../src/operations/registry.js';
import { ageOperation } from '../../src/testing/processing.js';
import { openDatabase } from './database.js';

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

export interface StoredOperation {
  readonly operation_key: string;
  readonly status: OperationStatus;
  readonly attempts: number;
  readonly lost_answers: number;
  readonly last_error: string | null;
  readonly provider_reference: string | null;
  readonly message: Buffer | null;
  readonly message_id: string | null;
  readonly idempotency_key: string;
  readonly source_scope: string | null;
  readonly settled_at: Date | null;
  /** Until `next_attempt_at`, by the database's clock. */
  readonly due_in_ms: number;
}

export interface PerformOptions {
  readonly definitions: readonly AnyOperationDefinition[];
  readonly checkpoints?: CheckpointHook;
  /** Of every kind; none by default. */
  readonly brake?: Partial<Brake>;
  readonly limits?: Partial<AttemptLimits>;
  /** Another pool than the bench's own, as another process would have. */
  readonly pool?: pg.Pool;
  readonly log?: string[];
}

/** A migrated database of one's own, and what tests of operations do with it. */
export interface OperationsBench {
  readonly url: string;
  readonly pool: pg.Pool;
  plan(operations: readonly PlannedOperation[], input: PlanOptions): Promise<PlanResult>;
  performer(options: PerformOptions): PerformOperation;
  read(key: string): Promise<StoredOperation>;
  /** Makes the row's attempts this much older. */
  age(key: string, ms: number): Promise<void>;
  close(): Promise<void>;
}

export interface PlanOptions {
  readonly definitions: readonly AnyOperationDefinition[];
  readonly tenant?: string;
  readonly event?: PlanInput['event'];
  readonly mode?: EffectMode;
}

export async function openOperationsBench(): Promise<OperationsBench> {
  const database = await openDatabase();
  const { url } = database;
  const log = createLogger('silent', 'test');
  const pool = createPool({ url, applicationName: 'oncehook test', max: 8, statementTimeoutMs: 5_000, log });

  return {
    url,
    pool,
    plan: (operations, { definitions, tenant = 't1', event = null, mode = 'auto' }) =>
      inTransaction(pool, (tx) =>
        planOperations(tx, {
          tenant,
          event,
          operations,
          registry: createOperationRegistry(definitions),
          modeOf: () => mode,
        }),
      ),
    performer: (options) => performer(pool, options),
    read: async (key) => {
      const { rows } = await pool.query<StoredOperation>(
        `select *, extract(epoch from next_attempt_at - now())::float8 * 1000 as due_in_ms
           from oncehook.operations
          where operation_key = $1`,
        [key],
      );
      if (rows[0] === undefined) throw new Error(`there is no operation ${key}`);
      return rows[0];
    },
    age: (key, ms) => ageOperation(pool, key, ms),
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
}

const LIMITS: AttemptLimits = { attemptMs: 5_000, lookMs: 2_000, graceMs: 500, storeMs: 1_000 };

function performer(pool: pg.Pool, options: PerformOptions): PerformOperation {
  const lines = options.log ?? [];
  return createPerformOperation({
    pool: options.pool ?? pool,
    registry: createOperationRegistry(options.definitions),
    brakeOf: () => ({ ...NO_BRAKE, ...options.brake }),
    checkpoints: options.checkpoints ?? (() => Promise.resolve()),
    metrics: createMetrics(new Registry()),
    log: createLogger('info', 'test', { write: (line) => void lines.push(line) }),
    limits: { ...LIMITS, ...options.limits },
  });
}

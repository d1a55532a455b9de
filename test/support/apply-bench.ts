import { applyEvent, type ApplyEventDeps, type ApplySource } from '../../activities/apply-event.js';
import { quarantineEvent } from '../../activities/quarantine-event.js';
import { inertCheckpoints, type CheckpointHook } from '../../src/checkpoints.js';
import { createPool } from '../../src/db/pool.js';
import type { ApplyEventResult, FetchReference, OperatorRequest } from '../../src/domain/outcome.js';
import { ordersHandlers, type OrdersOptions } from '../../src/handlers/orders/index.js';
import { defineOperation, type FetchedObject } from '../../src/index.js';
import { createLogger } from '../../src/observability/logger.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { findOperationsOfEvent } from '../../src/operations/find-operations.js';
import type { Brake } from '../../src/operations/brake.js';
import { createPlanner } from '../../src/operations/plan-operations.js';
import { createOperationRegistry } from '../../src/operations/registry.js';
import { z } from 'zod';
import { openDatabase, type TestDatabase } from './database.js';
import { ORDERS } from './order-options.js';
import { storeVerified } from './store-verified.js';

export const SCOPE = 'stripe:acct_test:test';

export interface ApplyBenchOptions {
  readonly orders?: Partial<OrdersOptions>;
  readonly fetch?: (reference: FetchReference) => FetchedObject;
  readonly modeOf?: (kind: string) => Brake['mode'];
  /** What of the source is other than the orders set's. */
  readonly source?: Partial<ApplySource>;
  readonly checkpoints?: CheckpointHook;
  /** Sessions at once. */
  readonly sessions?: number;
}

/** Long enough for every wait of a test to be scheduled. */
const PATIENCE_MS = 3_600_000;

export interface ApplyBench {
  readonly database: TestDatabase;
  readonly store: (event: { readonly id: string; readonly type: string }) => Promise<void>;
  /** One run of the apply step. */
  readonly apply: (eventId: string, replay?: OperatorRequest) => Promise<ApplyEventResult>;
  /** As a worker whose patience is at an end would run it. */
  readonly applyAtHorizon: (eventId: string) => Promise<ApplyEventResult>;
  /** What the workflow does after the fifth defect. */
  readonly giveUp: (eventId: string) => Promise<ApplyEventResult>;
  close(): Promise<void>;
}

/** The parameters that refunds and cancellations are frozen with, as the operations that carry them out expect them. */
const refundParams = z.strictObject({
  scope: z.string(),
  paymentId: z.string(),
  amountMinor: z.int().positive(),
  currency: z.string().regex(/^[a-z]{3}$/),
  orderId: z.string(),
  purpose: z.enum(['requested', 'late', 'surplus', 'excess']),
  reason: z.enum(['requested_by_customer', 'duplicate', 'fraudulent']).nullable(),
});
const cancelParams = z.strictObject({
  scope: z.string(),
  paymentId: z.string(),
  orderId: z.string(),
  reason: z.enum(['abandoned', 'duplicate', 'requested_by_customer', 'fraudulent']).nullable(),
});

function kindOf(kind: string, params: z.ZodType): ReturnType<typeof defineOperation> {
  return defineOperation({
    kind,
    params,
    perform: () => Promise.resolve({ kind: 'confirmed' }),
    classify: () => ({ kind: 'unknown', code: 'threw' }),
    onUnknown: 'hold',
  });
}

/** The apply step on a database of its own, called as its activity calls it: no Temporal, nothing performed. */
export async function openApplyBench(options: ApplyBenchOptions = {}): Promise<ApplyBench> {
  const database = await openDatabase();
  const log = createLogger('silent', 'test');
  const pool = createPool({
    url: database.url,
    applicationName: 'apply bench',
    max: options.sessions ?? 8,
    statementTimeoutMs: 6_000,
    lockTimeoutMs: 3_000,
    log,
  });
  const registry = createOperationRegistry([
    kindOf('email', z.looseObject({ to: z.string() })),
    kindOf('refund', refundParams),
    kindOf('cancel_payment_intent', cancelParams),
  ]);
  const modeOf = options.modeOf ?? (() => 'auto' as const);
  const metrics = createMetrics();
  // Anew for each run: a test may change what its source says between two runs.
  const deps = (horizonMs: number): ApplyEventDeps => ({
    pool,
    sources: new Map([
      [
        'stripe',
        {
          handlers: ordersHandlers({ ...ORDERS, ...options.orders }),
          admit: () => ({ kind: 'tenant', tenant: 'default' }),
          activeFrom: null,
          fetch: (_scope, reference) => Promise.resolve(options.fetch?.(reference) ?? { kind: 'unavailable' }),
          ...options.source,
        },
      ],
    ]),
    wait: { firstWaitMs: 1_000, maxWaitMs: 1_000, horizonMs },
    plan: createPlanner({ registry, modeOf }),
    operationsOf: findOperationsOfEvent,
    searchAttributes: () => false,
    checkpoints: options.checkpoints ?? inertCheckpoints,
    metrics,
  });
  const input = (eventId: string) => ({ scope: SCOPE, eventId, defects: 0, replay: null });
  return {
    database,
    store: (event) => storeVerified(database, SCOPE, event),
    apply: (eventId, replay) => applyEvent(deps(PATIENCE_MS), { ...input(eventId), replay: replay ?? null }),
    applyAtHorizon: (eventId) => applyEvent(deps(0), input(eventId)),
    giveUp: (eventId) =>
      quarantineEvent(deps(PATIENCE_MS), { scope: SCOPE, eventId, reason: 'handler_error', replay: null }),
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
}

import type { Express, Router } from 'express';
import type { Pool } from 'pg';
import { errorCode, errorKind } from './db/error-kinds.js';
import { createBodyMemory } from './http/body-memory.js';
import { createSignatureDiagnosis } from './http/diagnose-signature.js';
import { createHttpServer } from './http/http-server.js';
import { createLineSampler, type LineSampler } from './http/line-sampler.js';
import { createPublicApp } from './http/public-app.js';
import { createRateLimiter, type RateLimit } from './http/rate-limit.js';
import { createReadiness, type Readiness, type SchemaCheck, type TemporalCheck } from './http/readiness.js';
import { createReceiveRequest, type ReceiveRequest } from './http/receive-request.js';
import { createReceiveWebhook, type ReceiveDeps } from './http/receive-webhook.js';
import type { ReceivingSource, SecretSource } from './http/receiving-source.js';
import { createWebhookRouter } from './http/webhook-router.js';
import type { InsertFailure } from './inbox/commit-batch.js';
import { createInsertBatcher } from './inbox/insert-batcher.js';
import type { Logger } from './observability/logger.js';
import type { Metrics } from './observability/metrics.js';
import { createSource, type SourceSettings } from './sources/create-source.js';

/** The part of the configuration that receiving needs. */
export interface ReceiverConfig {
  readonly sources: ReadonlyMap<string, ReceiverSourceConfig>;
  /** Bytes of all bodies in memory at once; beyond it senders are told to come again. */
  readonly maxBodyMemory: number;
}

export type ReceiverSourceConfig = SourceSettings & {
  readonly secrets: SecretSource;
  /** In both directions, in milliseconds; unused where no time is signed. */
  readonly toleranceMs: number;
  readonly maxBodyBytes: number;
  readonly rateLimit: RateLimit | undefined;
  readonly response: { readonly body: string; readonly contentType: string } | undefined;
};

export interface ReceiverOptions extends Pick<ReceiveDeps, 'checkpoints' | 'dispatch'> {
  readonly config: ReceiverConfig;
  /**
   * Used by the receiver alone, from `createPool` with `statementTimeoutMs: INSERT_STATEMENT_TIMEOUT_MS`; the caller
   * ends it after `stop`.
   */
  readonly pool: Pool;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly schemaCheck: SchemaCheck;
  readonly temporalCheck: TemporalCheck;
  /** The receiver's clock, in milliseconds since 1970; the system's by default. */
  readonly now?: () => number;
}

export interface Receiver {
  /** Everything that the public listener serves. */
  readonly publicApp: Express;
  /** `/webhooks/{source}` alone, for another Express application; before any body parser. */
  readonly router: Router;
  /** The same for servers that speak web-standard requests and responses. */
  readonly fetch: ReceiveRequest;
  readonly readiness: () => Promise<Readiness>;
  /** @returns the port, which is the system's choice when 0 was asked for. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ readonly port: number }>;
  /**
   * Stops accepting, answers what is in flight (new requests on open connections get 503), commits what waits, closes.
   * Finished when it returns, within about {@link GRACE_MS}; may be called twice. The pool stays open.
   */
  stop(): Promise<void>;
}

/** How long open connections may take to end by themselves, in milliseconds. */
const GRACE_MS = 10_000;

/** Commits in flight at once: enough that one that hangs leaves others free, few enough that batches grow under load. */
const MAX_BATCHES_IN_FLIGHT = 4;

/** Builds a receiver from what it is given; it listens on nothing and touches no database until it is asked to. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { config, pool, log, metrics } = options;
  let stopping = false;
  const isStopping = (): boolean => stopping;

  const sampler = createLineSampler((cause, suppressed) => {
    log.info({ cause, suppressed }, 'log lines left out');
  });
  const batcher = createInsertBatcher({
    pool,
    maxInFlight: Math.max(1, Math.min(MAX_BATCHES_IN_FLIGHT, pool.options.max - 1)),
    onFailure: reportInsertFailure(log, metrics, sampler),
    metrics,
  });
  const sources = receivingSources(config);
  const deps: ReceiveDeps = {
    sources,
    diagnose: createSignatureDiagnosis({ sources, now: () => performance.now() }),
    insert: (event) => batcher.insert(event),
    dispatch: options.dispatch,
    bodyMemory: createBodyMemory(config.maxBodyMemory, (bytes) => {
      metrics.bodyBytesInMemory.set(bytes);
    }),
    checkpoints: options.checkpoints,
    log,
    metrics,
    sampler,
    now: options.now ?? Date.now,
    isStopping,
  };
  const router = createWebhookRouter(createReceiveWebhook(deps));
  const { schemaCheck, temporalCheck } = options;
  const readiness = createReadiness({ schemaCheck, temporalCheck, isStopping });
  const publicApp = createPublicApp({ router, readiness, log, sampler });
  const server = createHttpServer(publicApp);

  return {
    publicApp,
    router,
    fetch: createReceiveRequest(deps),
    readiness,
    listen: async ({ host, port }) => ({ port: await server.listen(host, port) }),
    stop: async () => {
      stopping = true;
      await server.stop(GRACE_MS);
      await batcher.drained();
      sampler.stop();
    },
  };
}

function receivingSources(config: ReceiverConfig): ReadonlyMap<string, ReceivingSource> {
  return new Map(
    [...config.sources].map(([name, source]) => [
      name,
      {
        source: createSource(source),
        secrets: source.secrets,
        toleranceMs: source.toleranceMs,
        maxBodyBytes: source.maxBodyBytes,
        rateLimiter: source.rateLimit === undefined ? undefined : createRateLimiter(source.rateLimit),
        response: source.response,
      },
    ]),
  );
}

function reportInsertFailure(log: Logger, metrics: Metrics, sampler: LineSampler): (failure: InsertFailure) => void {
  return ({ error, events }) => {
    if (errorKind(error) === 'infrastructure') metrics.infrastructureErrors.inc({ where: 'insert' });
    const code = errorCode(error);
    if (sampler.allows(`insert ${code}`)) log.warn({ err: error, code, events }, 'insert failed');
  };
}

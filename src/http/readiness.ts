import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendText } from './answer.js';

/** Whether the schema is at least the one needed; throws when PostgreSQL does not answer. */
export type SchemaCheck = () => Promise<'ok' | 'behind'>;

/** What is known of Temporal; told, and never counted: receiving does not depend on it. */
export type TemporalCheck = () => Promise<'ok' | 'down' | 'unknown'>;

export interface Readiness {
  readonly status: 'ready' | 'not_ready';
  readonly postgres: 'ok' | 'down';
  readonly schema: 'ok' | 'behind';
  readonly temporal: 'ok' | 'down' | 'unknown';
}

export interface ReadinessOptions {
  readonly schemaCheck: SchemaCheck;
  readonly temporalCheck: TemporalCheck;
  readonly isStopping: () => boolean;
}

/** A database that does not answer in this time is down for a load balancer; in milliseconds. */
const CHECK_DEADLINE_MS = 2_000;
/** Everybody may ask, so the answer is kept for a moment: asking must not cost a database connection each time. */
const KEPT_MS = 500;

/** Looks at what receiving stands on, at most twice a second however often it is asked. */
export function createReadiness(options: ReadinessOptions): () => Promise<Readiness> {
  // Of a database that is down nothing is known; what was seen last is the best guess.
  let schema: Readiness['schema'] = 'behind';
  let kept: { readonly at: number; readonly look: Promise<Readiness> } | undefined;

  const look = async (): Promise<Readiness> => {
    const [seen, temporal] = await Promise.all([
      settleWithin(options.schemaCheck, undefined),
      settleWithin(options.temporalCheck, 'unknown' as const),
    ]);
    schema = seen ?? schema;
    const postgres = seen === undefined ? 'down' : 'ok';
    const ready = postgres === 'ok' && schema === 'ok' && !options.isStopping();
    return { status: ready ? 'ready' : 'not_ready', postgres, schema, temporal };
  };

  return async () => {
    const now = performance.now();
    if (kept === undefined || now - kept.at > KEPT_MS) kept = { at: now, look: look() };
    return kept.look;
  };
}

/** The result of a check, or `otherwise` when it fails or takes too long. */
async function settleWithin<Result, Otherwise>(
  check: () => Promise<Result>,
  otherwise: Otherwise,
): Promise<Result | Otherwise> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Otherwise>((resolve) => {
    timer = setTimeout(resolve, CHECK_DEADLINE_MS, otherwise);
  });
  try {
    return await Promise.race([check(), deadline]);
  } catch {
    return otherwise;
  } finally {
    clearTimeout(timer);
  }
}

export function sendReadiness(req: IncomingMessage, res: ServerResponse, readiness: Readiness): void {
  sendText(req, res, readiness.status === 'ready' ? 200 : 503, 'application/json', JSON.stringify(readiness));
}

import type { Pool, PoolClient } from 'pg';
import { isConnectionError, isRetryableConflict, sqlstateOf } from '../db/error-kinds.js';
import { DatabaseUnusableError, DeadlineError } from '../errors.js';
import { insertEvents } from './insert-events.js';
import { keyText, type NewEvent, type StoredResult } from './new-event.js';

/**
 * `unavailable`: not committed, or nobody knows. The sender must send again, and may: what was committed after all is
 * then a duplicate.
 */
export type InsertResult = StoredResult | 'unavailable';

/**
 * What the receiver's sessions need as `statement_timeout`, in milliseconds: a little under the batcher's deadline, so
 * that on a lock the server ends the statement first and the connection stays usable. It also ends the statement of a
 * client that is gone.
 */
export const INSERT_STATEMENT_TIMEOUT_MS = 4_500;

export interface CommitBatchOptions {
  /** The receiver's own: sessions with `synchronous_commit` on and the statement timeout above. */
  readonly pool: Pick<Pool, 'connect'>;
  /** Hears of every failed attempt, also of one that a further attempt made good. */
  readonly onFailure: (failure: InsertFailure) => void;
}

export interface InsertFailure {
  readonly error: unknown;
  readonly events: number;
}

/**
 * Commits a batch and says for each event, in order, what became of it. Never throws.
 * - A row that the database refuses as data must not cost the others their commit: row by row.
 * - The victim of a deadlock is sound: once again, then row by row.
 * - Anything else, also an answer that does not come by `deadline` (on the clock of `performance.now()`): unavailable.
 */
export async function commitBatch(
  events: readonly NewEvent[],
  deadline: number,
  { pool, onFailure }: CommitBatchOptions,
): Promise<readonly InsertResult[]> {
  try {
    return await withClient(pool, deadline, (client) => commit(client, events, onFailure));
  } catch (error) {
    onFailure({ error, events: events.length });
    return events.map(() => 'unavailable');
  }
}

type OnFailure = CommitBatchOptions['onFailure'];

async function commit(
  client: PoolClient,
  events: readonly NewEvent[],
  onFailure: OnFailure,
): Promise<readonly InsertResult[]> {
  for (let conflicts = 0; ; conflicts += 1) {
    const attempt = await tryInsert(client, events);
    if (attempt.kind === 'committed') return attempt.results;
    onFailure({ error: attempt.error, events: events.length });
    if (attempt.kind === 'refused' || conflicts > 0) return rowByRow(client, events, onFailure);
  }
}

/** Every key in a statement of its own; the keys that are refused again are unavailable, the others are stored. */
async function rowByRow(
  client: PoolClient,
  events: readonly NewEvent[],
  onFailure: OnFailure,
): Promise<readonly InsertResult[]> {
  const results = events.map((): InsertResult => 'unavailable');
  for (const indexes of indexesByKey(events)) {
    const sameKey = indexes.flatMap((index) => events[index] ?? []);
    const attempt = await tryInsert(client, sameKey);
    if (attempt.kind !== 'committed') onFailure({ error: attempt.error, events: sameKey.length });
    else indexes.forEach((index, at) => (results[index] = attempt.results[at] ?? 'unavailable'));
  }
  return results;
}

function indexesByKey(events: readonly NewEvent[]): readonly (readonly number[])[] {
  const keys = events.map(keyText);
  return [...new Set(keys)].map((key) => keys.flatMap((candidate, index) => (candidate === key ? [index] : [])));
}

type Attempt =
  | { readonly kind: 'committed'; readonly results: readonly StoredResult[] }
  /** Rolled back whole; `refused` for what the rows hold, `conflict` for what others did meanwhile. */
  | { readonly kind: 'refused' | 'conflict'; readonly error: unknown };

/** @throws whatever says nothing about the rows and leaves the outcome in doubt. */
async function tryInsert(client: PoolClient, events: readonly NewEvent[]): Promise<Attempt> {
  try {
    return { kind: 'committed', results: await refusingWarnings(client, () => insertEvents(client, events)) };
  } catch (error) {
    if (isRetryableConflict(error)) return { kind: 'conflict', error };
    if (isDataError(error)) return { kind: 'refused', error };
    throw error;
  }
}

/**
 * A COMMIT whose wait for a synchronous standby is broken off succeeds all the same, with a warning (01000 or 57P01;
 * PostgreSQL's syncrep.c): the row is there, and a failover would lose it. No other warning belongs to our statement.
 */
async function refusingWarnings<Result>(client: PoolClient, body: () => Promise<Result>): Promise<Result> {
  let warning: string | undefined;
  const onNotice = ({ code = '' }: { readonly code: string | undefined }): void => {
    if (!code.startsWith('00')) warning = code;
  };
  client.on('notice', onNotice);
  try {
    const result = await body();
    if (warning !== undefined) throw new DatabaseUnusableError(`The server committed with warning ${warning}`);
    return result;
  } finally {
    client.off('notice', onNotice);
  }
}

/** SQLSTATE classes of trouble with the values: data (22), constraints (23), limits of the server's own (54). */
function isDataError(error: unknown): boolean {
  return /^(22|23|54)/.test(sqlstateOf(error) ?? '');
}

/**
 * Lends a connection until `deadline`. It goes back to the pool only in a known state: after a lost connection or a
 * missed deadline it is destroyed, which is also what makes the statement in flight fail.
 */
async function withClient<Result>(
  pool: Pick<Pool, 'connect'>,
  deadline: number,
  body: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let expired: DeadlineError | undefined;
  const timer = setTimeout(() => {
    expired = new DeadlineError('The insert was not answered in time');
    client.release(expired);
  }, deadline - performance.now());
  try {
    const result = await body(client);
    if (expired === undefined) client.release();
    return result;
  } catch (error) {
    if (expired !== undefined) throw expired;
    client.release(isConnectionError(error));
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

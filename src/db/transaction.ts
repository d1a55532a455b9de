import type { Pool, PoolClient } from 'pg';
import { HandlerDefectError } from '../errors.js';
import { isRetryableConflict } from './error-kinds.js';

/** A deadlock victim is sound and may run again at once; three times in a row means something else is wrong. */
const MAX_CONFLICT_RETRIES = 3;

/**
 * Runs `body` in one transaction and commits. A deadlock or serialization failure runs it again from the start, so
 * `body` must do nothing that a rollback does not undo. Any other error rolls back and is thrown. After a failed
 * COMMIT nothing is known: the caller must be repeatable by key.
 */
export async function inTransaction<Result>(pool: Pool, body: (tx: PoolClient) => Promise<Result>): Promise<Result> {
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      return await attempt(pool, body);
    } catch (error) {
      if (!isRetryableConflict(error) || conflicts >= MAX_CONFLICT_RETRIES) throw error;
    }
  }
}

async function attempt<Result>(pool: Pool, body: (tx: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await body(client);
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    // A session whose state is in any doubt must not serve the next caller: one that rolled back cleanly may go back,
    // every other is closed, and the server rolls back.
    client.release(!(await rollsBackCleanly(client, error)));
    throw error;
  }
}

async function rollsBackCleanly(client: PoolClient, error: unknown): Promise<boolean> {
  // Code that overran its time may still hold this session and speak on it later: close it under that code.
  if (error instanceof HandlerDefectError && error.code === 'handler_timeout') return false;
  return client.query('rollback').then(
    () => true,
    () => false,
  );
}

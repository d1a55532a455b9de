import type { Pool, PoolClient } from 'pg';
import type { PreparedMessage } from '../api/operations.js';
import { inTransaction } from '../db/transaction.js';
import { HOURLY_CAP } from './brake.js';
import { pausedSql } from './pauses.js';
import type { OperationRow } from './read-operation.js';

/** A committed intent: from here on the effect may happen. */
export interface BegunAttempt {
  /** Its number, which its answer must name. */
  readonly attempt: number;
  readonly lostAnswers: number;
  readonly firstSentAt: Date;
  readonly sinceFirstSentMs: number;
  /** The bytes stored first, which are not always the ones given here. */
  readonly message: PreparedMessage | null;
}

interface BegunRow {
  readonly attempt: number;
  readonly lostAnswers: number;
  readonly firstSentAt: Date;
  readonly sinceFirstSentMs: number;
  readonly bytes: Buffer | null;
  readonly messageId: string | null;
}

type Queryable = Pick<PoolClient, 'query'>;

/**
 * Commits the intent to send, if the row still is as it was seen; `undefined` when another attempt, an operator or a
 * pause came first. An attempt found in `sending` is dead by then and counted as a lost answer. The message is stored
 * once and never replaced, so every attempt sends the same bytes.
 * @param perHour how many operations of the kind may begin within an hour; only a first send that nobody approved
 * counts. Above it the attempt does not begin (`hourly_cap`).
 */
export async function beginAttempt(
  pool: Pool,
  seen: OperationRow,
  prepared: PreparedMessage | null,
  perHour: number | null,
): Promise<BegunAttempt | typeof HOURLY_CAP | undefined> {
  if (perHour === null || seen.firstSentAt !== null || seen.approved) return begin(pool, seen, prepared, null);
  return inTransaction(pool, async (tx) => {
    // Held to the commit, so that the count below sees all that began before: two workers cannot both be the last.
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('oncehook.operations.per_hour:' || $1, 0))`, [
      seen.kind,
    ]);
    const begun = await begin(tx, seen, prepared, perHour);
    if (begun !== undefined) return begun;
    return (await isCapReached(tx, seen.kind, perHour)) ? HOURLY_CAP : undefined;
  });
}

/** First sends of the kind within the last hour that no operator approved, by the database's clock. */
const BEGUN_THIS_HOUR = `
  select count(*)
    from oncehook.operations begun
   where begun.kind = $1
     and begun.first_sent_at > now() - interval '1 hour'
     and begun.approved_at is null`;

async function isCapReached(db: Queryable, kind: string, perHour: number): Promise<boolean> {
  const { rows } = await db.query<{ reached: boolean }>(`select (${BEGUN_THIS_HOUR}) >= $2 as reached`, [
    kind,
    perHour,
  ]);
  return rows[0]?.reached === true;
}

async function begin(
  db: Queryable,
  seen: OperationRow,
  prepared: PreparedMessage | null,
  perHour: number | null,
): Promise<BegunAttempt | undefined> {
  const { rows } = await db.query<BegunRow>(
    `update oncehook.operations
        set status = 'sending',
            attempts = attempts + 1,
            lost_answers = lost_answers + case when status = 'sending' then 1 else 0 end,
            first_sent_at = coalesce(first_sent_at, now()),
            last_sent_at = now(),
            message = coalesce(message, $6),
            message_id = case when message is null then $7 else message_id end,
            next_attempt_at = now() + interval '60 seconds'
      where kind = $1
        and operation_key = $2
        and generation = $3
        and attempts = $4
        and status = $5
        and not ${pausedSql('operations')}
        and ($8::integer is null or (${BEGUN_THIS_HOUR}) < $8)
     returning attempts as attempt,
               lost_answers as "lostAnswers",
               first_sent_at as "firstSentAt",
               extract(epoch from now() - first_sent_at)::float8 * 1000 as "sinceFirstSentMs",
               message as bytes,
               message_id as "messageId"`,
    [
      seen.kind,
      seen.operationKey,
      seen.generation,
      seen.attempts,
      seen.status,
      prepared?.bytes ?? null,
      prepared?.messageId ?? null,
      perHour,
    ],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const { bytes, messageId, ...facts } = row;
  return { ...facts, message: bytes === null || messageId === null ? null : { bytes, messageId } };
}

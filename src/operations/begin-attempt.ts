import type { ClientBase } from 'pg';
import type { PreparedMessage } from '../api/operations.js';
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

/**
 * Commits the intent to send, if the row still is as it was seen; `undefined` when another attempt, an operator or a
 * brake came first. An attempt found in `sending` is dead by then and counted as a lost answer. The message is stored
 * once and never replaced, so every attempt sends the same bytes.
 */
export async function beginAttempt(
  db: Pick<ClientBase, 'query'>,
  seen: OperationRow,
  prepared: PreparedMessage | null,
): Promise<BegunAttempt | undefined> {
  const { rows } = await db.query<BegunRow>(
    `update oncehook.operations
        set status = 'sending',
            attempts = attempts + 1,
            lost_answers = lost_answers + case when status = 'sending' then 1 else 0 end,
            first_sent_at = coalesce(first_sent_at, now()),
            last_sent_at = now(),
            message = coalesce(message, $5),
            message_id = case when message is null then $6 else message_id end,
            next_attempt_at = now() + interval '60 seconds'
      where operation_key = $1
        and generation = $2
        and attempts = $3
        and status = $4
        and not exists (
              select
                from oncehook.operation_pauses pause
               where pause.kind = operations.kind
                 and pause.tenant_id in (operations.tenant_id, '*'))
     returning attempts as attempt,
               lost_answers as "lostAnswers",
               first_sent_at as "firstSentAt",
               extract(epoch from now() - first_sent_at)::float8 * 1000 as "sinceFirstSentMs",
               message as bytes,
               message_id as "messageId"`,
    [
      seen.operationKey,
      seen.generation,
      seen.attempts,
      seen.status,
      prepared?.bytes ?? null,
      prepared?.messageId ?? null,
    ],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const { bytes, messageId, ...facts } = row;
  return { ...facts, message: bytes === null || messageId === null ? null : { bytes, messageId } };
}

import type { ClientBase } from 'pg';
import type { OperationStatus } from '../domain/operation.js';
import { OUTCOME_UNKNOWN, type Verdict } from './verdict.js';

/** Names the attempt that an answer is for. */
export interface AttemptKey {
  readonly operationKey: string;
  readonly generation: number;
  readonly attempt: number;
  /** Answers lost before this attempt, as its begin counted them. */
  readonly lostAnswers: number;
}

/**
 * Stores what an attempt's answer means, if the row may still learn from it; otherwise nothing changes and `undefined`
 * is returned.
 * - The latest attempt's answer counts while the row waits for it, also late: when it was meanwhile taken for lost.
 * - An older attempt's answer counts only when it confirms: the effect is a fact whatever came after, and knowing it
 *   stops further sends. Its refusal or failure says nothing of the newer attempt.
 * - A settled row keeps what it says.
 * Repeatable: after a COMMIT whose answer was lost the second call finds the row as the first one left it.
 */
export async function recordAnswer(
  db: Pick<ClientBase, 'query'>,
  { operationKey, generation, attempt, lostAnswers }: AttemptKey,
  verdict: Verdict,
): Promise<OperationStatus | undefined> {
  const { rows } = await db.query<{ status: OperationStatus }>(
    `update oncehook.operations
        set status = $4,
            last_error = $5,
            provider_reference = coalesce($6, provider_reference),
            lost_answers = case when attempts = $3 then $7 else lost_answers end,
            next_attempt_at = now() + ($8::float8 + 60000) * interval '1 millisecond',
            settled_at = case when $4 in ('confirmed', 'refused') then now() end
      where operation_key = $1
        and generation = $2
        and (   attempts = $3
                and (status in ('sending', 'unknown') or (status = 'parked' and last_error = $9))
             or attempts >= $3
                and $4 = 'confirmed'
                and status in ('planned', 'sending', 'unknown', 'parked'))
     returning status`,
    [
      operationKey,
      generation,
      attempt,
      verdict.status,
      verdict.code,
      verdict.reference,
      lostAnswers + verdict.lostAnswers,
      verdict.delayMs,
      OUTCOME_UNKNOWN,
    ],
  );
  return rows[0]?.status;
}

import type { ClientBase } from 'pg';
import type { OperationRow } from './read-operation.js';
import type { Verdict } from './verdict.js';

/**
 * Moves a row without a send: parked, refused before anything went out, or settled by a look. Only if it still is as it
 * was seen; `false` when it is not. A look that showed nothing counts as an attempt, so that the next waits longer.
 */
export async function moveOperation(
  db: Pick<ClientBase, 'query'>,
  seen: OperationRow,
  verdict: Verdict,
  attempts: 0 | 1 = 0,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update oncehook.operations
        set status = $5,
            last_error = $6,
            provider_reference = coalesce($7, provider_reference),
            lost_answers = lost_answers + $8,
            attempts = attempts + $9,
            next_attempt_at = now() + ($10::float8 + 60000) * interval '1 millisecond',
            settled_at = case when $5 in ('confirmed', 'refused') then now() end
      where operation_key = $1
        and generation = $2
        and attempts = $3
        and status = $4`,
    [
      seen.operationKey,
      seen.generation,
      seen.attempts,
      seen.status,
      verdict.status,
      verdict.code,
      verdict.reference,
      verdict.lostAnswers,
      attempts,
      verdict.delayMs,
    ],
  );
  return rowCount === 1;
}

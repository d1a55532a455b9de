import type { ClientBase } from 'pg';
import type { EventKey, InboxOutcome } from '../domain/event.js';

type Queryable = Pick<ClientBase, 'query'>;

interface RowAfter {
  readonly attempts: number;
}

/** The last statement of an apply transaction: the event is done, for good. Returns the handler runs so far. */
export async function markDone(
  tx: Queryable,
  key: EventKey,
  result: { readonly outcome: InboxOutcome; readonly reason: string | null; readonly handlerRuns: 0 | 1 },
): Promise<number> {
  return attemptsOf(
    await tx.query<RowAfter>(
      `update oncehook.webhook_inbox
          set status = 'done',
              outcome = $3,
              reason = $4,
              attempts = attempts + $5,
              dispatched_at = coalesce(dispatched_at, now()),
              waiting_since = null,
              last_error = null,
              completed_at = now()
        where source_scope = $1
          and event_id = $2
          and status <> 'done'
      returning attempts`,
      [key.scope, key.eventId, result.outcome, result.reason, result.handlerRuns],
    ),
  );
}

/** The event waits for an operator, under a reason code. */
export async function markQuarantined(
  tx: Queryable,
  key: EventKey,
  result: { readonly reason: string; readonly handlerRuns: 0 | 1 },
): Promise<number> {
  return attemptsOf(
    await tx.query<RowAfter>(
      `update oncehook.webhook_inbox
          set status = 'quarantined',
              reason = $3,
              attempts = attempts + $4,
              dispatched_at = coalesce(dispatched_at, now())
        where source_scope = $1
          and event_id = $2
          and status <> 'done'
      returning attempts`,
      [key.scope, key.eventId, result.reason, result.handlerRuns],
    ),
  );
}

/** How long after its due time a wait or retry that nobody took up falls to the sweeper. */
const SWEEPER_GRACE = `interval '60 seconds'`;

/** The event is not ready; its run looks again after `delayMs`, and the sweeper a minute later if the run is gone. */
export async function markWaiting(
  tx: Queryable,
  key: EventKey,
  result: { readonly reason: string; readonly delayMs: number },
): Promise<number> {
  return attemptsOf(
    await tx.query<RowAfter>(
      `update oncehook.webhook_inbox
          set status = 'pending',
              reason = null,
              attempts = attempts + 1,
              dispatched_at = coalesce(dispatched_at, now()),
              waiting_since = coalesce(waiting_since, now()),
              last_error = $3,
              next_attempt_at = now() + $4 * interval '1 millisecond' + ${SWEEPER_GRACE}
        where source_scope = $1
          and event_id = $2
          and status <> 'done'
      returning attempts`,
      [key.scope, key.eventId, result.reason, result.delayMs],
    ),
  );
}

/** A handler failed; its text is kept here, where the application's own data lives, and nowhere else. */
export async function recordDefect(
  db: Queryable,
  key: EventKey,
  defect: { readonly text: string; readonly delayMs: number },
): Promise<void> {
  await db.query(
    `update oncehook.webhook_inbox
        set attempts = attempts + 1,
            dispatched_at = coalesce(dispatched_at, now()),
            last_error = $3,
            next_attempt_at = now() + $4 * interval '1 millisecond' + ${SWEEPER_GRACE}
      where source_scope = $1
        and event_id = $2
        and status <> 'done'`,
    [key.scope, key.eventId, defect.text, defect.delayMs],
  );
}

/** What an event waits for is not its handler's fault: kept to be seen, and not counted. */
export async function recordTrouble(db: Queryable, key: EventKey, text: string): Promise<void> {
  await db.query(
    `update oncehook.webhook_inbox
        set last_error = $3
      where source_scope = $1
        and event_id = $2
        and status = 'pending'`,
    [key.scope, key.eventId, text],
  );
}

/** An operator's replay begins a fresh budget of waits. */
export async function restartBudget(tx: Queryable, key: EventKey): Promise<void> {
  await tx.query(
    `update oncehook.webhook_inbox
        set waiting_since = null
      where source_scope = $1
        and event_id = $2
        and status <> 'done'`,
    [key.scope, key.eventId],
  );
}

function attemptsOf(result: { readonly rows: readonly RowAfter[] }): number {
  const row = result.rows[0];
  // The caller holds the row's lock and has seen that it is not done.
  if (row === undefined) throw new Error('The inbox row changed under its lock');
  return row.attempts;
}

import type { ClientBase } from 'pg';
import type { EventKey } from '../domain/event.js';
import type { OperatorRequest } from '../domain/outcome.js';

export type OperatorActionName = 'replay' | 'discard';

/** Whether this request was carried out before: an activity that is tried again must not act on it twice. */
export async function wasCarriedOut(tx: Pick<ClientBase, 'query'>, requestKey: string): Promise<boolean> {
  const { rows } = await tx.query('select from oncehook.operator_actions where request_key = $1', [requestKey]);
  return rows.length > 0;
}

/** Keeps what an operator asked for and what came of it, in the transaction that carried it out. */
export async function recordOperatorAction(
  tx: Pick<ClientBase, 'query'>,
  key: EventKey,
  action: OperatorActionName,
  request: OperatorRequest,
  result: string,
): Promise<void> {
  await tx.query(
    `insert into oncehook.operator_actions
            (source_scope, event_id, action, requested_by, reason, request_key, result)
     values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (request_key) do nothing`,
    [key.scope, key.eventId, action, request.by, request.reason, request.requestKey, result],
  );
}

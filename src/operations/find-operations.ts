import type { ClientBase } from 'pg';
import type { EventKey } from '../domain/event.js';
import type { OperationStatus } from '../domain/operation.js';
import type { OperationSummary } from '../domain/outcome.js';

type Queryable = Pick<ClientBase, 'query'>;

/** Every operation that the event was the first to call for, by key. */
export async function findOperationsOfEvent(db: Queryable, event: EventKey): Promise<readonly OperationSummary[]> {
  const { rows } = await db.query<{ operation_key: string; status: OperationStatus }>(
    `select operation_key, status
       from oncehook.operations
      where source_scope = $1
        and event_id = $2
      order by operation_key collate "C"`,
    [event.scope, event.eventId],
  );
  return rows.map(({ operation_key: key, status }) => ({ key, status }));
}

import type { ClientBase } from 'pg';
import type { EventKey } from '../domain/event.js';
import type { OperationStatus } from '../domain/operation.js';
import { pausedSql } from './pauses.js';

/** An operation as an attempt finds it. All ages are by the database's clock. */
export interface OperationRow {
  readonly operationKey: string;
  readonly kind: string;
  readonly tenant: string;
  readonly params: unknown;
  readonly idempotencyKey: string;
  readonly generation: number;
  readonly status: OperationStatus;
  readonly attempts: number;
  readonly lostAnswers: number;
  /** Whether the bytes to send are stored already. */
  readonly prepared: boolean;
  readonly createdAt: Date;
  readonly firstSentAt: Date | null;
  readonly sinceFirstSentMs: number | null;
  readonly sinceLastSentMs: number | null;
  /** Whether a pause of its kind, tenant or scope holds it back. */
  readonly paused: boolean;
  /** Whether an operator let it through the brakes of its kind. */
  readonly approved: boolean;
  /** The event that called for it; `null` when an application asked. */
  readonly event: EventKey | null;
  /** What its parameters name as the account it is made in; `null` when they name none. */
  readonly scope: string | null;
}

/** One operation by its key; `undefined` when there is none. Takes no lock: `beginAttempt` checks what was seen. */
export async function readOperation(
  db: Pick<ClientBase, 'query'>,
  operationKey: string,
): Promise<OperationRow | undefined> {
  const { rows } = await db.query<OperationRow>(
    `select operation_key as "operationKey",
            kind,
            tenant_id as tenant,
            params,
            idempotency_key as "idempotencyKey",
            generation,
            status,
            attempts,
            lost_answers as "lostAnswers",
            message is not null as prepared,
            created_at as "createdAt",
            first_sent_at as "firstSentAt",
            extract(epoch from now() - first_sent_at)::float8 * 1000 as "sinceFirstSentMs",
            extract(epoch from now() - last_sent_at)::float8 * 1000 as "sinceLastSentMs",
            approved_at is not null as approved,
            case
              when event_id is not null then json_build_object('scope', source_scope, 'eventId', event_id)
            end as event,
            params->>'scope' as scope,
            ${pausedSql('operations')} as paused
       from oncehook.operations
      where operation_key = $1`,
    [operationKey],
  );
  return rows[0];
}

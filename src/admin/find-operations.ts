import type { ClientBase } from 'pg';
import type { OperationStatus } from '../domain/operation.js';
import { pausedSql } from '../operations/pauses.js';

type Queryable = Pick<ClientBase, 'query'>;

/** Which operations a command is about; what is left out does not restrict. */
export interface OperationFilter {
  readonly key?: string;
  readonly status?: OperationStatus;
  readonly kind?: string;
  readonly tenant?: string;
  /** What the parameters name as the account. */
  readonly scope?: string;
  /** What the parameters name as the order. */
  readonly order?: string;
  /** Code of the row. */
  readonly reason?: string;
  /** Planned at least this long ago, in milliseconds, by the database's clock. */
  readonly olderThanMs?: number;
}

export interface OperationListing {
  readonly operationKey: string;
  readonly kind: string;
  readonly tenant: string;
  readonly status: OperationStatus;
  /** Why it is not confirmed, as a code. */
  readonly reason: string | null;
  readonly attempts: number;
  readonly order: string | null;
  /** As in the parameters, in the smallest unit; null for a kind without. */
  readonly amountMinor: string | null;
  readonly currency: string | null;
  readonly providerReference: string | null;
  readonly createdAt: Date;
  readonly paused: boolean;
}

const LISTED = `
  operation_key as "operationKey",
  kind,
  tenant_id as tenant,
  status,
  last_error as reason,
  attempts,
  params->>'orderId' as "order",
  params->>'amountMinor' as "amountMinor",
  params->>'currency' as currency,
  provider_reference as "providerReference",
  created_at as "createdAt",
  ${pausedSql('operations')} as paused`;

/** Operations that match, oldest first, at most `limit`; one more than wanted tells the caller that there are more. */
export async function findOperations(
  db: Queryable,
  filter: OperationFilter,
  limit: number,
): Promise<readonly OperationListing[]> {
  const { rows } = await db.query<OperationListing>(
    `select ${LISTED}
       from oncehook.operations
      where ($1::text is null or operation_key = $1)
        and ($2::text is null or status = $2)
        and ($3::text is null or kind = $3)
        and ($4::text is null or tenant_id = $4)
        and ($5::text is null or params->>'scope' = $5)
        and ($6::text is null or params->>'orderId' = $6)
        and ($7::text is null or last_error = $7)
        and ($8::float8 is null or created_at <= now() - $8 * interval '1 millisecond')
      order by created_at, operation_key collate "C"
      limit $9`,
    [
      filter.key ?? null,
      filter.status ?? null,
      filter.kind ?? null,
      filter.tenant ?? null,
      filter.scope ?? null,
      filter.order ?? null,
      filter.reason ?? null,
      filter.olderThanMs ?? null,
      limit,
    ],
  );
  return rows;
}

/** All that is known of one operation, without the bytes of a message. */
export interface OperationDetails extends OperationListing {
  readonly params: unknown;
  readonly idempotencyKey: string;
  readonly generation: number;
  readonly lostAnswers: number;
  readonly messageId: string | null;
  readonly firstSentAt: Date | null;
  readonly lastSentAt: Date | null;
  readonly nextAttemptAt: Date;
  readonly approvedAt: Date | null;
  readonly settledAt: Date | null;
  /** The event that called for it first; null when an application asked. */
  readonly scope: string | null;
  readonly eventId: string | null;
  readonly pauses: readonly PauseListing[];
  readonly actions: readonly OperationAction[];
}

export interface PauseListing {
  readonly kind: string;
  readonly tenant: string;
  readonly scope: string;
  readonly requestedBy: string;
  readonly reason: string;
  readonly pausedAt: string;
}

export interface OperationAction {
  readonly action: string;
  readonly requestedBy: string | null;
  readonly reason: string | null;
  readonly requestedAt: string;
  readonly result: string;
}

export async function readOperationDetails(db: Queryable, key: string): Promise<OperationDetails | undefined> {
  const { rows } = await db.query<OperationDetails>(
    `select ${LISTED},
            params,
            idempotency_key as "idempotencyKey",
            generation,
            lost_answers as "lostAnswers",
            message_id as "messageId",
            first_sent_at as "firstSentAt",
            last_sent_at as "lastSentAt",
            next_attempt_at as "nextAttemptAt",
            approved_at as "approvedAt",
            settled_at as "settledAt",
            source_scope as scope,
            event_id as "eventId",
            (select coalesce(json_agg(json_build_object(
                      'kind', p.kind, 'tenant', p.tenant_id, 'scope', p.scope, 'requestedBy', p.requested_by,
                      'reason', p.reason, 'pausedAt', p.paused_at) order by p.paused_at), '[]')
               from oncehook.operation_pauses p
              where p.kind in (operations.kind, '*')
                and p.tenant_id in (operations.tenant_id, '*')
                and (p.scope = '*' or p.scope = params->>'scope')) as pauses,
            (select coalesce(json_agg(json_build_object(
                      'action', a.action, 'requestedBy', a.requested_by, 'reason', a.reason,
                      'requestedAt', a.requested_at, 'result', a.result) order by a.id), '[]')
               from oncehook.operator_actions a
              where a.operation_key = operations.operation_key) as actions
       from oncehook.operations
      where operation_key = $1`,
    [key],
  );
  return rows[0];
}

/** Every pause that stands, oldest first. */
export async function findPauses(db: Queryable): Promise<readonly PauseListing[]> {
  const { rows } = await db.query<PauseListing>(
    `select kind, tenant_id as tenant, scope, requested_by as "requestedBy", reason, paused_at as "pausedAt"
       from oncehook.operation_pauses
      order by paused_at, kind, tenant_id, scope`,
  );
  return rows;
}

import { randomUUID } from 'node:crypto';
import { DatabaseError, type ClientBase, type Pool } from 'pg';
import { inTransaction } from '../db/transaction.js';
import { CommandError } from '../errors.js';
import type { OperatorName } from './act-on-operations.js';

type Queryable = Pick<ClientBase, 'query'>;

/** Which orders a command is about; what is left out does not restrict. */
export interface OrderFilter {
  readonly tenant?: string;
  readonly id?: string;
  readonly status?: string;
  /** Only those that are held. */
  readonly held?: boolean;
  /** Registered at least this long ago, in milliseconds, by the database's clock. */
  readonly olderThanMs?: number;
}

/** Amounts are in the smallest unit of the order's currency, as text: they may be larger than a number is exact. */
export interface OrderListing {
  readonly tenant: string;
  readonly id: string;
  readonly status: string;
  readonly totalMinor: string;
  readonly capturedMinor: string;
  readonly refundedMinor: string;
  readonly currency: string;
  readonly disputeState: string;
  readonly holdReason: string | null;
  readonly paymentId: string | null;
  readonly createdAt: Date;
  readonly paidAt: Date | null;
}

/** Orders that match, oldest first, at most `limit`; one more than wanted tells the caller that there are more. */
export async function findOrders(db: Queryable, filter: OrderFilter, limit: number): Promise<readonly OrderListing[]> {
  const { rows } = await db.query<OrderListing>(
    `select tenant_id as tenant,
            id,
            status,
            total_minor as "totalMinor",
            captured_minor as "capturedMinor",
            refunded_minor as "refundedMinor",
            currency,
            dispute_state as "disputeState",
            hold_reason as "holdReason",
            provider_payment_id as "paymentId",
            created_at as "createdAt",
            paid_at as "paidAt"
       from oncehook.orders
      where ($1::text is null or tenant_id = $1)
        and ($2::text is null or id = $2)
        and ($3::text is null or status = $3)
        and (not $4::boolean or hold_reason is not null)
        and ($5::float8 is null or created_at <= now() - $5 * interval '1 millisecond')
      order by created_at, tenant_id, id
      limit $6`,
    [
      filter.tenant ?? null,
      filter.id ?? null,
      filter.status ?? null,
      filter.held ?? false,
      filter.olderThanMs ?? null,
      limit,
    ],
  );
  return rows;
}

/** An order with its payments and the external effects that were decided for it. */
export interface OrderDetails extends OrderListing {
  readonly payments: readonly OrderPayment[];
  readonly operations: readonly OrderOperation[];
}

export interface OrderPayment {
  readonly paymentId: string;
  readonly scope: string;
  readonly role: string;
  readonly providerStatus: string;
  readonly capturedMinor: string;
  readonly currency: string;
}

export interface OrderOperation {
  readonly operationKey: string;
  readonly status: string;
  readonly reason: string | null;
  readonly amountMinor: string | null;
  readonly providerReference: string | null;
}

/**
 * The one order that an ID names, of the tenant given or of the only one that has it.
 * @throws CommandError `not_found` when there is none, `usage` when several tenants have it.
 */
export async function resolveOrder(db: Queryable, id: string, tenant?: string): Promise<OrderListing> {
  const found = await findOrders(db, tenant === undefined ? { id } : { id, tenant }, MAX_TENANTS_SHOWN);
  const [order] = found;
  if (order === undefined) throw new CommandError('not_found', `No order ${id}`);
  if (found.length > 1) {
    const tenants = found.map((row) => row.tenant).join(', ');
    throw new CommandError('usage', `Several tenants have an order ${id}: add --tenant with one of ${tenants}`);
  }
  return order;
}

const MAX_TENANTS_SHOWN = 10;

export async function readOrderDetails(db: Queryable, order: OrderListing): Promise<OrderDetails> {
  const { rows: payments } = await db.query<OrderPayment>(
    `select provider_payment_id as "paymentId",
            source_scope as scope,
            role,
            provider_status as "providerStatus",
            captured_minor as "capturedMinor",
            currency
       from oncehook.payments
      where tenant_id = $1
        and order_id = $2
      order by created_at, provider_payment_id`,
    [order.tenant, order.id],
  );
  const { rows: operations } = await db.query<OrderOperation>(
    `select operation_key as "operationKey",
            status,
            last_error as reason,
            params->>'amountMinor' as "amountMinor",
            provider_reference as "providerReference"
       from oncehook.operations
      where tenant_id = $1
        and params->>'orderId' = $2
      order by created_at, operation_key collate "C"`,
    [order.tenant, order.id],
  );
  return { ...order, payments, operations };
}

export type OrderRequest =
  | { readonly action: 'refund'; readonly amountMinor: bigint; readonly requestId: string }
  | { readonly action: 'cancel' };

/**
 * Asks for an order's money to move, by the same function in the database that an application calls, and records who
 * asked. Asking again (for a refund: under the same request ID) is the same request.
 * @returns the operation that was planned; null when the request needs none.
 * @throws CommandError with the database's sentence when the order does not allow it.
 */
export async function requestForOrder(
  pool: Pool,
  { tenant, id }: Pick<OrderListing, 'tenant' | 'id'>,
  request: OrderRequest,
  operator: OperatorName,
): Promise<string | null> {
  return inTransaction(pool, async (tx) => {
    const operationKey = await callFunction(tx, tenant, id, request);
    await tx.query(
      `insert into oncehook.operator_actions (operation_key, action, requested_by, reason, request_key, result)
       values ($1, $2, $3, $4, $5, $6)`,
      [
        operationKey,
        request.action,
        operator.by,
        operator.reason,
        `command:${randomUUID()}`,
        operationKey === null ? 'done' : 'planned',
      ],
    );
    return operationKey;
  });
}

async function callFunction(tx: Queryable, tenant: string, id: string, request: OrderRequest): Promise<string | null> {
  try {
    const { rows } = await (request.action === 'refund'
      ? tx.query<{ key: string | null }>('select oncehook.request_refund($1, $2, $3, $4) as key', [
          tenant,
          id,
          request.amountMinor.toString(),
          request.requestId,
        ])
      : tx.query<{ key: string | null }>('select oncehook.request_cancel($1, $2) as key', [tenant, id]));
    return rows[0]?.key ?? null;
  } catch (error) {
    throw explained(error);
  }
}

/** The functions raise what an order does not allow, in sentences made for people, often with what to do instead. */
function explained(error: unknown): unknown {
  if (!(error instanceof DatabaseError) || error.code === undefined) return error;
  if (error.code === UNDEFINED_FUNCTION) {
    return new CommandError('failed', 'This schema has no such function: run oncehook migrate');
  }
  if (!REFUSALS.has(error.code)) return error;
  const sentence = error.hint === undefined ? error.message : `${error.message}. ${error.hint}`;
  return new CommandError(error.code === NO_DATA_FOUND ? 'not_found' : 'failed', sentence);
}

const UNDEFINED_FUNCTION = '42883';
const NO_DATA_FOUND = 'P0002';

/** With what they raise: invalid_parameter_value, unique_violation, object_not_in_prerequisite_state. */
const REFUSALS = new Set([NO_DATA_FOUND, 'P0001', '22023', '23505', '55000']);

import type { Order, OrderCase } from '../../domain/orders/order-case.js';
import type { Transaction } from '../../api/index.js';

/**
 * Locks an order and reads everything stored about it. Two statements: what the second reads must be as of the moment
 * when the lock was had, not of when it was asked for.
 */
export async function loadCase(
  tx: Pick<Transaction, 'query'>,
  tenant: string,
  orderId: string,
): Promise<OrderCase | undefined> {
  const order = await lockOrder(tx, tenant, orderId);
  return order === undefined ? undefined : { order, ...(await readRows(tx, tenant, orderId)) };
}

async function lockOrder(tx: Pick<Transaction, 'query'>, tenant: string, orderId: string): Promise<Order | undefined> {
  const { rows } = await tx.query<Order>(
    `select id,
            status,
            provider_payment_id as "providerPaymentId",
            total_minor::float8 as "totalMinor",
            currency,
            captured_minor::float8 as "capturedMinor",
            refunded_minor::float8 as "refundedMinor",
            dispute_state as "disputeState",
            hold_reason as "holdReason",
            customer_email as "customerEmail"
       from oncehook.orders
      where tenant_id = $1
        and id = $2
        for update`,
    [tenant, orderId],
  );
  return rows[0];
}

/** Each list in a fixed order; the amounts are safe integers, since only those were let in. */
async function readRows(
  tx: Pick<Transaction, 'query'>,
  tenant: string,
  orderId: string,
): Promise<Omit<OrderCase, 'order'>> {
  const { rows } = await tx.query<Omit<OrderCase, 'order'>>(
    `select coalesce((
              select json_agg(json_build_object(
                       'paymentId', payment.provider_payment_id,
                       'chargeId', payment.provider_charge_id,
                       'role', payment.role,
                       'status', payment.provider_status,
                       'capturedMinor', payment.captured_minor,
                       'capturableMinor', payment.capturable_minor,
                       'currency', payment.currency,
                       'attemptFailed', payment.attempt_failed)
                       order by payment.provider_payment_id)
                from oncehook.payments payment
               where payment.tenant_id = $1
                 and payment.order_id = $2), '[]') as payments,
            coalesce((
              select json_agg(json_build_object(
                       'refundId', refund.provider_refund_id,
                       'paymentId', refund.provider_payment_id,
                       'amountMinor', refund.amount_minor,
                       'currency', refund.currency,
                       'status', refund.status,
                       'everSucceeded', refund.ever_succeeded,
                       'operationKey', refund.operation_key)
                       order by refund.provider_refund_id)
                from oncehook.refunds refund
               where refund.tenant_id = $1
                 and refund.order_id = $2), '[]') as refunds,
            coalesce((
              select json_agg(json_build_object(
                       'disputeId', dispute.provider_dispute_id,
                       'paymentId', dispute.provider_payment_id,
                       'amountMinor', dispute.amount_minor,
                       'currency', dispute.currency,
                       'status', dispute.status,
                       'movements', dispute.movements)
                       order by dispute.provider_dispute_id)
                from oncehook.disputes dispute
               where dispute.tenant_id = $1
                 and dispute.order_id = $2), '[]') as disputes,
            coalesce((
              select json_agg(json_build_object(
                       'operationKey', operation.operation_key,
                       'operationId', regexp_replace(operation.idempotency_key, ':[0-9]+$', ''),
                       'paymentId', operation.params ->> 'paymentId',
                       'amountMinor', (operation.params ->> 'amountMinor')::bigint)
                       order by operation.operation_key)
                from oncehook.payments payment
                join oncehook.operations operation
                  on operation.kind = 'refund'
                 and operation.params ->> 'scope' = payment.source_scope
                 and operation.params ->> 'paymentId' = payment.provider_payment_id
               where payment.tenant_id = $1
                 and payment.order_id = $2), '[]') as operations`,
    [tenant, orderId],
  );
  // One row always: nothing but subqueries.
  return rows[0] ?? { payments: [], refunds: [], disputes: [], operations: [] };
}

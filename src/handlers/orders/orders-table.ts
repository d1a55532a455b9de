import type { Transaction } from '../../index.js';
import type { Order } from './order-lifecycle.js';

const ORDER_COLUMNS = `
            o.id,
            o.status,
            o.provider_payment_id as "providerPaymentId",
            o.total_minor::float8 as "totalMinor",
            o.captured_minor::float8 as "capturedMinor",
            o.currency,
            o.hold_reason as "holdReason",
            o.customer_email as "customerEmail"`;

/** Locks the order that a payment belongs to: by its payment row, else by the payment bound at registration. */
export async function lockOrderOfPayment(
  tx: Transaction,
  key: { readonly scope: string; readonly tenant: string; readonly paymentId: string },
): Promise<Order | undefined> {
  const { rows } = await tx.query<Order>(
    `select ${ORDER_COLUMNS}
       from oncehook.orders o
      where o.tenant_id = $2
        and (o.provider_payment_id = $3
             or o.id = (select p.order_id
                          from oncehook.payments p
                         where p.source_scope = $1
                           and p.provider_payment_id = $3
                           and p.tenant_id = $2))
        for update of o`,
    [key.scope, key.tenant, key.paymentId],
  );
  return rows[0];
}

export async function lockOrder(tx: Transaction, tenant: string, orderId: string): Promise<Order | undefined> {
  const { rows } = await tx.query<Order>(
    `select ${ORDER_COLUMNS}
       from oncehook.orders o
      where o.tenant_id = $1
        and o.id = $2
        for update of o`,
    [tenant, orderId],
  );
  return rows[0];
}

/** Ties a payment to an order that has none yet. */
export async function bindPayment(
  tx: Transaction,
  key: { readonly tenant: string; readonly orderId: string; readonly paymentId: string },
): Promise<void> {
  await tx.query(
    `update oncehook.orders
        set provider_payment_id = $3,
            updated_at = now()
      where tenant_id = $1
        and id = $2
        and provider_payment_id is null`,
    [key.tenant, key.orderId, key.paymentId],
  );
}

/**
 * The guarded transition to paid: every precondition is in the statement.
 * @returns whether it happened; if not, the caller classifies, never assumes.
 */
export async function markPaid(
  tx: Transaction,
  fact: {
    readonly tenant: string;
    readonly orderId: string;
    readonly paymentId: string;
    readonly amountMinor: number;
    readonly currency: string;
  },
): Promise<boolean> {
  const { rows } = await tx.query(
    `update oncehook.orders
        set status = 'paid',
            captured_minor = $4,
            paid_at = now(),
            updated_at = now()
      where tenant_id = $1
        and id = $2
        and provider_payment_id = $3
        and total_minor = $4
        and currency = $5
        and status in ('awaiting_payment', 'processing', 'authorized')
        and hold_reason is null
  returning id`,
    [fact.tenant, fact.orderId, fact.paymentId, fact.amountMinor, fact.currency],
  );
  return rows.length === 1;
}

/** Keeps the payment that an order was paid with. */
export async function recordBoundPayment(
  tx: Transaction,
  payment: {
    readonly scope: string;
    readonly tenant: string;
    readonly orderId: string;
    readonly paymentId: string;
    readonly amountMinor: number;
    readonly currency: string;
  },
): Promise<void> {
  await tx.query(
    `insert into oncehook.payments
            (source_scope, provider_payment_id, tenant_id, order_id, role, provider_status, captured_minor, currency)
     values ($1, $2, $3, $4, 'bound', 'succeeded', $5, $6)
         on conflict (source_scope, provider_payment_id) do update
        set role = 'bound',
            provider_status = 'succeeded',
            captured_minor = excluded.captured_minor,
            updated_at = now()`,
    [payment.scope, payment.paymentId, payment.tenant, payment.orderId, payment.amountMinor, payment.currency],
  );
}

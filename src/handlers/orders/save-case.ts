import { ledgerOf } from '../../domain/orders/ledger.js';
import {
  isPaid,
  type Dispute,
  type Order,
  type OrderCase,
  type Payment,
  type Refund,
} from '../../domain/orders/order-case.js';
import { stateOfDispute } from '../../domain/orders/settle-order.js';
import type { Transaction, WebhookEvent } from '../../api/index.js';

/** The rows are one tenant's and, where they name objects of the provider, one scope's. */
type Key = Pick<WebhookEvent, 'scope' | 'tenant'>;

/** Writes what a decision changed, under the order's lock: order, payments, refunds, disputes, and their ledger entries. */
export async function saveCase(tx: Transaction, key: Key, before: OrderCase, next: OrderCase): Promise<void> {
  const { id: orderId } = next.order;
  const payments = changed(before.payments, next.payments);
  // The index of bound payments allows one: who no longer is goes first.
  for (const payment of payments.filter(({ role }) => role !== 'bound')) await savePayment(tx, key, orderId, payment);
  for (const payment of payments.filter(({ role }) => role === 'bound')) await savePayment(tx, key, orderId, payment);
  if (next.order !== before.order) await saveOrder(tx, key, before.order, next.order);
  for (const refund of changed(before.refunds, next.refunds)) await saveRefund(tx, key, orderId, refund);
  for (const dispute of changed(before.disputes, next.disputes)) await saveDispute(tx, key, orderId, dispute);
  await addToLedger(tx, key, before, next);
  for (const paymentId of newlyDisputed(before, next)) {
    await tx.query(`select oncehook.park_refunds($1, $2, 'payment_disputed')`, [key.scope, paymentId]);
  }
}

/** Rows that a decision left alone are the very same objects. */
function changed<Row>(before: readonly Row[], next: readonly Row[]): readonly Row[] {
  return next.filter((row) => !before.includes(row));
}

function saveOrder(tx: Transaction, key: Key, before: Order, next: Order): Promise<void> {
  return !isPaid(before.status) && isPaid(next.status)
    ? markPaid(tx, key, before, next)
    : updateOrder(tx, key, before, next);
}

/**
 * The guarded transition to paid: every precondition is in the statement, over and above the decision. That it does not
 * hold under the order's lock is a fault of this code, never a duplicate.
 */
async function markPaid(tx: Transaction, { tenant }: Key, before: Order, next: Order): Promise<void> {
  const { rows } = await tx.query(
    `update oncehook.orders
        set status = $4,
            provider_payment_id = $5,
            captured_minor = $6,
            refunded_minor = $7,
            dispute_state = $8,
            hold_reason = $9,
            paid_at = now(),
            updated_at = now()
      where tenant_id = $1
        and id = $2
        and provider_payment_id is not distinct from $3
        and total_minor <= $6
        and currency = $10
        and status in ('awaiting_payment', 'processing', 'authorized')
        and (hold_reason is null or hold_reason = 'refund_failed')
  returning id`,
    [
      tenant,
      next.id,
      before.providerPaymentId,
      next.status,
      next.providerPaymentId,
      next.capturedMinor,
      next.refundedMinor,
      next.disputeState,
      next.holdReason,
      next.currency,
    ],
  );
  if (rows.length !== 1) throw new Error('The guarded transition to paid matched no order');
}

async function updateOrder(tx: Transaction, { tenant }: Key, before: Order, next: Order): Promise<void> {
  const { rows } = await tx.query(
    `update oncehook.orders
        set status = $4,
            provider_payment_id = $5,
            refunded_minor = $6,
            dispute_state = $7,
            hold_reason = $8,
            updated_at = now()
      where tenant_id = $1
        and id = $2
        and status = $3
        and captured_minor = $9
  returning id`,
    [
      tenant,
      next.id,
      before.status,
      next.status,
      next.providerPaymentId,
      next.refundedMinor,
      next.disputeState,
      next.holdReason,
      next.capturedMinor,
    ],
  );
  if (rows.length !== 1) throw new Error('The order is not as it was when it was locked');
}

async function savePayment(tx: Transaction, { scope, tenant }: Key, orderId: string, payment: Payment): Promise<void> {
  const { rows } = await tx.query(
    `insert into oncehook.payments as stored
            (source_scope, provider_payment_id, tenant_id, order_id, role, provider_status, captured_minor, currency,
             provider_charge_id, capturable_minor, attempt_failed)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict (source_scope, provider_payment_id) do update
        set role = excluded.role,
            provider_status = excluded.provider_status,
            captured_minor = excluded.captured_minor,
            provider_charge_id = excluded.provider_charge_id,
            capturable_minor = excluded.capturable_minor,
            attempt_failed = excluded.attempt_failed,
            updated_at = now()
      where stored.tenant_id = excluded.tenant_id
        and stored.order_id = excluded.order_id
  returning provider_payment_id`,
    [
      scope,
      payment.paymentId,
      tenant,
      orderId,
      payment.role,
      payment.status,
      payment.capturedMinor,
      payment.currency,
      payment.chargeId,
      payment.capturableMinor,
      payment.attemptFailed,
    ],
  );
  // Two events of a payment that named two orders, at once: tried again, the second finds the payment where it is.
  if (rows.length !== 1) throw new Error('The payment became another order’s meanwhile');
}

async function saveRefund(tx: Transaction, { scope, tenant }: Key, orderId: string, refund: Refund): Promise<void> {
  await tx.query(
    `insert into oncehook.refunds
            (source_scope, provider_refund_id, provider_payment_id, tenant_id, order_id, amount_minor, currency, status,
             ever_succeeded, operation_key)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         on conflict (source_scope, provider_refund_id) do update
        set status = excluded.status,
            ever_succeeded = excluded.ever_succeeded,
            operation_key = excluded.operation_key,
            updated_at = now()`,
    [
      scope,
      refund.refundId,
      refund.paymentId,
      tenant,
      orderId,
      refund.amountMinor,
      refund.currency,
      refund.status,
      refund.everSucceeded,
      refund.operationKey,
    ],
  );
}

async function saveDispute(tx: Transaction, { scope, tenant }: Key, orderId: string, dispute: Dispute): Promise<void> {
  await tx.query(
    `insert into oncehook.disputes
            (source_scope, provider_dispute_id, provider_payment_id, tenant_id, order_id, amount_minor, currency, status,
             movements)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb)
         on conflict (source_scope, provider_dispute_id) do update
        set amount_minor = excluded.amount_minor,
            status = excluded.status,
            movements = excluded.movements,
            updated_at = now()`,
    [
      scope,
      dispute.disputeId,
      dispute.paymentId,
      tenant,
      orderId,
      dispute.amountMinor,
      dispute.currency,
      dispute.status,
      JSON.stringify(dispute.movements),
    ],
  );
}

/** Entries only ever come to the rows that they stand for, so what is new is the difference. */
async function addToLedger(tx: Transaction, { scope, tenant }: Key, before: OrderCase, next: OrderCase): Promise<void> {
  const written = new Set(ledgerOf(before).map(({ key }) => key));
  const entries = ledgerOf(next).filter(({ key }) => !written.has(key));
  if (entries.length === 0) return;
  await tx.query(
    `insert into oncehook.order_ledger
            (source_scope, entry_key, kind, tenant_id, order_id, provider_payment_id, amount_minor, currency)
     select $1, entry.key, entry.kind, $2, $3, entry."paymentId", entry."amountMinor", entry.currency
       from jsonb_to_recordset($4::jsonb)
              as entry(key text, kind text, "paymentId" text, "amountMinor" bigint, currency text)`,
    [scope, tenant, next.order.id, JSON.stringify(entries)],
  );
}

/** Payments whose money the bank is taking back now: no refund of them may go out by itself. */
function newlyDisputed(before: OrderCase, next: OrderCase): readonly string[] {
  const wereOpen = openDisputes(before);
  return [...openDisputes(next)].filter((paymentId) => !wereOpen.has(paymentId));
}

function openDisputes({ disputes }: OrderCase): ReadonlySet<string> {
  return new Set(disputes.filter(({ status }) => stateOfDispute(status) === 'open').map(({ paymentId }) => paymentId));
}

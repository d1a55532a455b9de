import {
  applied,
  duplicate,
  fetchFirst,
  operationKey,
  quarantine,
  superseded,
  wait,
  type FetchReference,
  type Handler,
  type HandlerOutcome,
  type PlannedOperation,
  type Transaction,
  type WebhookEvent,
} from '../../index.js';
import { classifyUnpaid, type Order } from './order-lifecycle.js';
import { bindPayment, lockOrder, lockOrderOfPayment, markPaid, recordBoundPayment } from './orders-table.js';
import { readEventObject, readPaymentFact, readPaymentId, type PaymentFact } from './payment-fact.js';

export interface OrdersOptions {
  /** Whether a paid order's customer gets a confirmation. */
  readonly confirmPaidByEmail: boolean;
}

/**
 * `payment_intent.succeeded`: finds or binds the order, moves it to paid by one guarded statement, and plans the
 * confirmation. Whatever does not move the order is classified under the order's lock.
 */
export function paymentSucceeded(options: OrdersOptions): Handler {
  return async (event, tx) => {
    const read = readFact(event);
    if ('kind' in read) return read;
    const found = await findOrder(event, tx, read);
    if ('kind' in found) return found;

    const order = await bindIfFree(event, tx, found, read);
    const target = { tenant: event.tenant, orderId: order.id, ...read };
    if (await markPaid(tx, target)) {
      await recordBoundPayment(tx, { scope: event.scope, ...target });
      return applied({ orderId: order.id, operations: confirmation(event.tenant, order, read, options) });
    }
    return classify(event, order, read);
  };
}

/** The fact as the event tells it, else as the provider does: a payload that does not decode is fetched by its ID. */
function readFact(event: WebhookEvent): PaymentFact | HandlerOutcome {
  const object = readEventObject(event.payload);
  const fact = readPaymentFact(object);
  if (fact !== null) return fact;
  const paymentId = readPaymentId(object);
  if (paymentId === null) return quarantine('schema');
  const fetched = event.fetched(paymentReference(paymentId));
  if (fetched === undefined) return fetchFirst(paymentReference(paymentId));
  return (fetched.kind === 'found' ? readPaymentFact(fetched.object) : null) ?? quarantine('schema');
}

/** The payment's order, by what we stored; else by the reference on the payment, which may come before its order. */
async function findOrder(event: WebhookEvent, tx: Transaction, fact: PaymentFact): Promise<Order | HandlerOutcome> {
  const { scope, tenant } = event;
  if (fact.metadataTenant !== null && fact.metadataTenant !== tenant) return quarantine('account_mismatch');
  const known = await lockOrderOfPayment(tx, { scope, tenant, paymentId: fact.paymentId });
  if (known !== undefined) return known;
  switch (fact.orderReference.kind) {
    case 'none':
      return quarantine('unknown_order');
    case 'malformed':
      return quarantine('malformed_order_id');
    case 'order': {
      const orderId = fact.orderReference.id;
      const order = await lockOrder(tx, tenant, orderId);
      return order ?? wait('unknown_order', { orderId, fetch: paymentReference(fact.paymentId) });
    }
  }
}

async function bindIfFree(event: WebhookEvent, tx: Transaction, order: Order, fact: PaymentFact): Promise<Order> {
  if (order.providerPaymentId !== null) return order;
  const { paymentId } = fact;
  await bindPayment(tx, { tenant: event.tenant, orderId: order.id, paymentId });
  return { ...order, providerPaymentId: paymentId };
}

function classify(event: WebhookEvent, order: Order, fact: PaymentFact): HandlerOutcome {
  const verdict = classifyUnpaid(order, fact);
  switch (verdict.kind) {
    case 'duplicate':
      return duplicate({ orderId: order.id });
    case 'quarantine':
      return quarantine(verdict.reason, { orderId: order.id });
    case 'ask':
      return askProvider(event, order, fact);
  }
}

/** Another amount for a paid order: an older fact if the provider agrees with what is stored, else a contradiction. */
function askProvider(event: WebhookEvent, order: Order, fact: PaymentFact): HandlerOutcome {
  const fetched = event.fetched(paymentReference(fact.paymentId));
  if (fetched === undefined) return fetchFirst(paymentReference(fact.paymentId));
  const now = fetched.kind === 'found' ? readPaymentFact(fetched.object) : null;
  const agrees = now?.amountMinor === order.capturedMinor && now.currency === order.currency;
  return agrees ? superseded({ orderId: order.id }) : quarantine('amount_conflict', { orderId: order.id });
}

function confirmation(
  tenant: string,
  order: Order,
  fact: PaymentFact,
  options: OrdersOptions,
): readonly PlannedOperation[] {
  if (!options.confirmPaidByEmail || order.customerEmail === null) return [];
  return [
    {
      kind: 'email',
      key: operationKey('email', 'order-paid', tenant, order.id),
      params: {
        template: 'order_paid',
        to: order.customerEmail,
        orderId: order.id,
        amountMinor: fact.amountMinor,
        currency: fact.currency,
      },
    },
  ];
}

function paymentReference(id: string): FetchReference {
  return { type: 'payment_intent', id };
}

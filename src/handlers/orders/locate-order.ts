import type { Located } from '../../domain/orders/decide.js';
import type { About, Fact, Looks } from '../../domain/orders/facts.js';
import type { Transaction, WebhookEvent } from '../../api/index.js';
import { loadCase } from './load-case.js';

/**
 * Finds the order that a fact is about and locks it: by the payment as we know it, then as registered with the order,
 * then by the reference that the application wrote on it. The tenant is the source's, never the payload's.
 */
export async function locateOrder(
  tx: Transaction,
  { scope, tenant }: Pick<WebhookEvent, 'scope' | 'tenant'>,
  fact: Fact,
  looks: Looks,
): Promise<Located> {
  const paymentId = fact.paymentId ?? (await paymentOfCharge(tx, scope, fact, looks));
  const orderId = referenceOf(aboutOf(fact, paymentId, looks), tenant);
  const found = await findOrder(tx, { scope, tenant, paymentId, orderId });
  if (found === undefined) return { kind: 'nowhere', paymentId };
  if (found.tenant !== tenant) return { kind: 'otherTenant' };
  const orderCase = await loadCase(tx, tenant, found.orderId);
  // Gone between the two statements: an application deleted its order.
  return orderCase === undefined ? { kind: 'nowhere', paymentId } : { kind: 'case', orderCase, paymentId };
}

async function paymentOfCharge(tx: Transaction, scope: string, fact: Fact, looks: Looks): Promise<string | null> {
  if (!('chargeId' in fact) || fact.chargeId === null) return null;
  const { rows } = await tx.query<{ payment_id: string }>(
    `select provider_payment_id as payment_id
       from oncehook.payments
      where source_scope = $1
        and provider_charge_id = $2`,
    [scope, fact.chargeId],
  );
  if (rows[0] !== undefined) return rows[0].payment_id;
  const look = looks.charge(fact.chargeId);
  return look.kind === 'found' ? look.value : null;
}

/** Refunds and disputes carry nothing of the application's; their payment does, once it was fetched. */
function aboutOf(fact: Fact, paymentId: string | null, looks: Looks): About | null {
  if ('about' in fact) return fact.about;
  if (paymentId === null) return null;
  const look = looks.payment(paymentId);
  return look.kind === 'found' ? look.value.about : null;
}

function referenceOf(about: About | null, tenant: string): string | null {
  if (about === null || !about.isOurs || about.reference.kind !== 'order') return null;
  return about.tenant === null || about.tenant === tenant ? about.reference.id : null;
}

async function findOrder(
  tx: Transaction,
  key: {
    readonly scope: string;
    readonly tenant: string;
    readonly paymentId: string | null;
    readonly orderId: string | null;
  },
): Promise<{ readonly tenant: string; readonly orderId: string } | undefined> {
  const { rows } = await tx.query<{ tenant: string; orderId: string }>(
    `select tenant_id as tenant, order_id as "orderId"
       from (
         select 1 as rank, payment.tenant_id, payment.order_id
           from oncehook.payments payment
          where payment.source_scope = $1
            and payment.provider_payment_id = $3
         union all
         select 2, registered.tenant_id, registered.id
           from oncehook.orders registered
          where registered.tenant_id = $2
            and registered.provider_payment_id = $3
         union all
         select 3, named.tenant_id, named.id
           from oncehook.orders named
          where named.tenant_id = $2
            and named.id = $4) as candidate
      order by rank
      limit 1`,
    [key.scope, key.tenant, key.paymentId, key.orderId],
  );
  return rows[0];
}

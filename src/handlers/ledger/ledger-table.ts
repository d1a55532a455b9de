import type { Transaction, WebhookEvent } from '../../api/index.js';
import type { PaymentFact } from './payment-fact.js';

/** Writes the entry, if its reference is new; waits for another transaction that is just writing it. */
export async function insertEntry(
  tx: Transaction,
  event: Pick<WebhookEvent, 'tenant' | 'scope' | 'eventId'>,
  fact: PaymentFact,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into oncehook.ledger_entries
            (tenant_id, reference, amount_minor, currency, occurred_at, source_scope, event_id)
     values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (tenant_id, reference) do nothing`,
    [event.tenant, fact.reference, fact.amountMinor, fact.currency, fact.occurredAt, event.scope, event.eventId],
  );
  return rowCount === 1;
}

/** Whether the stored entry of the reference is about the same money. */
export async function isSameMoney(tx: Transaction, tenant: string, fact: PaymentFact): Promise<boolean> {
  const { rows } = await tx.query(
    `select
       from oncehook.ledger_entries
      where tenant_id = $1
        and reference = $2
        and amount_minor = $3
        and currency = $4`,
    [tenant, fact.reference, fact.amountMinor, fact.currency],
  );
  return rows.length === 1;
}

import { ledgerHandlers } from '../../src/handlers/ledger/index.js';
import { defineProof } from '../../src/testing/index.js';

function payment(id: string, reference: string): { type: string; id: string; payload: unknown } {
  const data = { reference, amount_minor: 4200, currency: 'eur', occurred_at: '2026-03-01T09:00:00Z' };
  return { type: 'payment.succeeded', id, payload: { id, type: 'payment.succeeded', data } };
}

/** The built-in `ledger` set: two payments, and the first one told again by another event. */
export const proof = defineProof({
  handlers: ledgerHandlers(),
  source: 'bank',
  scope: 'hmac:bank',
  events: [payment('p1', 'ref_1'), payment('p2', 'ref_2'), payment('p3', 'ref_1')],
  state: async (db) =>
    (
      await db.query<Record<string, unknown>>(
        'select reference, amount_minor, currency from oncehook.ledger_entries order by 1',
      )
    ).rows,
});

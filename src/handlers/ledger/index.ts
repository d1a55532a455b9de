import { applied, defineHandlers, duplicate, quarantine, type Handler, type HandlerSet } from '../../api/index.js';
import { insertEntry, isSameMoney } from './ledger-table.js';
import { readPaymentFact } from './payment-fact.js';

/** The built-in `ledger` set, over the table `ledger_entries`; written against the public API only. */
export function ledgerHandlers(): HandlerSet {
  return defineHandlers({ 'payment.succeeded': paymentSucceeded });
}

/** One entry per reference: the same money again is a duplicate, other money under it a contradiction. */
const paymentSucceeded: Handler = async (event, tx) => {
  const fact = readPaymentFact(event);
  if (fact === null) return quarantine('schema');
  if (await insertEntry(tx, event, fact)) return applied();
  return (await isSameMoney(tx, event.tenant, fact)) ? duplicate() : quarantine('reference_conflict');
};

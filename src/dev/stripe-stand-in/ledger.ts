import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

/** One effect that was executed, whoever heard of it. */
export interface LedgerEntry {
  readonly effect: 'payment' | 'capture' | 'cancel' | 'refund';
  /** Of the object that was made or changed. */
  readonly id: string;
  readonly paymentIntent: string;
  readonly amount: number;
  readonly currency: string;
  readonly idempotencyKey: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The account in whose name it was asked for; null for the key's own. */
  readonly account: string | null;
}

export interface Ledger {
  /** On the disk when it returns, so before anything is answered. */
  readonly note: (entry: LedgerEntry) => void;
  readonly close: () => void;
}

/** A file of one JSON line per executed effect; a second process may go on with it. */
export function openLedger(path: string): Ledger {
  const file = openSync(path, 'a');
  return {
    note: (entry) => {
      writeSync(file, `${JSON.stringify({ at: new Date().toISOString(), ...entry })}\n`);
      fsyncSync(file);
    },
    close: () => {
      closeSync(file);
    },
  };
}

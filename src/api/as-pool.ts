import type { Transaction } from './handlers.js';

/** What libraries that insist on a pool take of one: `new PostgresDialect({ pool: asPool(tx) })` for Kysely. */
export interface PoolOfOne {
  connect(): Promise<Transaction>;
  end(): Promise<void>;
}

/** The transaction as a pool that hands out nothing else. Releasing and ending do nothing. */
export function asPool(tx: Transaction): PoolOfOne {
  return { connect: () => Promise.resolve(tx), end: () => Promise.resolve() };
}

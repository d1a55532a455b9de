import type { PoolClient } from 'pg';
import { HandlerDefectError } from '../src/errors.js';

/** What would take the connection from under the transaction, by name. */
const NOT_A_HANDLERS: ReadonlySet<string | symbol> = new Set(['connect', 'end']);

/** Statements that begin or end a transaction; `rollback to` goes back to a savepoint, which a handler may have. */
const TRANSACTION_CONTROL =
  /^\s*(begin|start\s+transaction|commit|end|abort|rollback(?!\s+(work\s+|transaction\s+)?to\b))\b/i;

/**
 * The transaction's client as a handler gets it: whole, so that query builders take it for what it is. But it cannot be
 * closed, giving it back does nothing (Kysely does so after each statement), and a statement that would commit half of
 * an event is refused before it is sent.
 */
export function handlerTransaction(client: PoolClient): PoolClient {
  const query = (...args: unknown[]): unknown => {
    const [control] = TRANSACTION_CONTROL.exec(textOf(args[0])) ?? [];
    if (control !== undefined) refuse(`sent ${control.trim()}: the transaction is oncehook's to end`);
    // With whatever of `query`'s forms it was called.
    return (client.query as (...all: readonly unknown[]) => unknown).apply(client, args);
  };
  return new Proxy(client, {
    get: (target, name) => {
      if (name === 'query') return query;
      if (name === 'release') return () => undefined;
      if (NOT_A_HANDLERS.has(name))
        return () => refuse(`called ${String(name)}() on the connection of its transaction`);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function textOf(statement: unknown): string {
  if (typeof statement === 'string') return statement;
  const text: unknown = typeof statement === 'object' && statement !== null && 'text' in statement && statement.text;
  return typeof text === 'string' ? text : '';
}

function refuse(what: string): never {
  throw new HandlerDefectError('handler_nonsense', `The handler ${what}`);
}

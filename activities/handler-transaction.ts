import pg, { type PoolClient, type Submittable } from 'pg';
import { HandlerDefectError } from '../src/errors.js';
import { createOpenStatements, microtasksDone } from './open-statements.js';
import { asOneStatement, transactionControl } from './one-statement.js';

/** What would take the connection from under the transaction, by name. */
const NOT_A_HANDLERS: ReadonlySet<string | symbol> = new Set(['connect', 'end']);

/** The transaction while one handler has it. */
export interface HandlerTransaction {
  /**
   * The transaction's client, whole, so that query builders take it for what it is. But it cannot be closed, giving it
   * back does nothing (Kysely does so after each statement), and a statement that would commit half of an event is
   * refused: before it is sent, or by the server when it hides behind another in the same text.
   */
  readonly tx: PoolClient;
  /** How many statements have no answer yet, once all that the handler's code can do without one is done. */
  readonly unanswered: () => Promise<number>;
  /**
   * Waits until the code that the handler left behind has sent its last statement, and takes the transaction away: a
   * later statement is not sent, it rejects.
   */
  readonly end: () => Promise<void>;
  /** Takes it away at once. */
  readonly revoke: () => void;
}

type Query = (...args: readonly unknown[]) => unknown;
type Callback = (error: unknown, result?: unknown) => void;

export function openHandlerTransaction(client: PoolClient): HandlerTransaction {
  const statements = createOpenStatements();
  let isOver = false;
  // With whatever of `query`'s forms it is called; pg's overloads do not describe that.
  const send = client.query.bind(client) as unknown as Query;

  const submit = (statement: unknown, values: readonly unknown[]): Promise<unknown> => {
    if (isOver) return Promise.reject(tooLate());
    const answer = send(asOneStatement(statement), ...values) as Promise<unknown>;
    // Also hears a failure that the handler does not wait for: it counts as a defect, and need not end the process.
    statements.watch(answer);
    return answer;
  };

  const query: Query = (statement, ...rest) => {
    const control = transactionControl(textOf(statement));
    if (control !== undefined) throw defect(`sent ${control}: the transaction is oncehook's to end`);
    if (isSubmittable(statement)) {
      if (isOver) throw tooLate();
      statements.watch(endOf(statement));
      // A cursor or stream is sent that way by itself.
      if (statement instanceof pg.Query) Object.assign(statement, { queryMode: 'extended' });
      return send(statement, ...rest);
    }
    const callback = rest.find(isCallback);
    if (callback === undefined) return submit(statement, rest);
    submit(
      statement,
      rest.filter((argument) => argument !== callback),
    ).then((result) => {
      callback(null, result);
    }, callback);
    return undefined;
  };

  const revoke = (): void => {
    isOver = true;
  };
  return {
    tx: guard(client, query),
    unanswered: async () => {
      await microtasksDone();
      return statements.count();
    },
    end: async () => {
      await statements.allAnswered();
      revoke();
    },
    revoke,
  };
}

function guard(client: PoolClient, query: Query): PoolClient {
  return new Proxy(client, {
    get: (target, name) => {
      if (name === 'query') return query;
      if (name === 'release') return () => undefined;
      if (NOT_A_HANDLERS.has(name)) {
        return () => {
          throw defect(`called ${String(name)}() on the connection of its transaction`);
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function isCallback(value: unknown): value is Callback {
  return typeof value === 'function';
}

/** What pg submits as it is: its own `Query`, cursors, streams. */
interface Submitted extends Submittable {
  handleError: Query;
  handleReadyForQuery: Query;
}

function isSubmittable(statement: unknown): statement is Submitted {
  return typeof statement === 'object' && statement !== null && 'submit' in statement;
}

/** pg tells a query of its end by one of two methods, whatever else it is (pg 8.23, client.js). */
function endOf(query: Submitted): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ['handleError', 'handleReadyForQuery'] as const) {
      const told: Query = query[name].bind(query);
      query[name] = (...args) => {
        resolve();
        return told(...args);
      };
    }
  });
}

function textOf(statement: unknown): string {
  if (typeof statement === 'string') return statement;
  const text: unknown = typeof statement === 'object' && statement !== null && 'text' in statement && statement.text;
  return typeof text === 'string' ? text : '';
}

function tooLate(): HandlerDefectError {
  return defect('used tx after it had ended; that statement was not sent');
}

function defect(what: string): HandlerDefectError {
  return new HandlerDefectError('handler_nonsense', `The handler ${what}`);
}

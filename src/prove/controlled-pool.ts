import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pool, PoolClient } from 'pg';
import { sqlstateOf } from '../db/error-kinds.js';
import type { Attempt } from './attempt.js';

/** A pool whose sessions are lost where an attempt's fault says so, and wait for the attempt's turn. */
export interface ControlledPool {
  readonly pool: Pool;
  /** Runs `body` as this attempt: every session that it opens through `pool` is its own. */
  readonly run: <Result>(attempt: Attempt, body: () => Promise<Result>) => Promise<Result>;
  /** The attempt whose code is running. */
  readonly current: () => Attempt | undefined;
}

const DEADLOCK = '40P01';

/** @param committed called after each commit, before the attempt goes on */
export function createControlledPool(real: Pool, committed: () => Promise<void>): ControlledPool {
  const running = new AsyncLocalStorage<Attempt>();
  const backends = new WeakMap<PoolClient, number>();
  const connect = async (): Promise<PoolClient> => {
    const attempt = running.getStore();
    const client = await real.connect();
    if (attempt === undefined) return client;
    const backend = backends.get(client) ?? (await backendOf(client));
    backends.set(client, backend);
    return control(client, backend, attempt, committed);
  };
  // A statement that is sent outside of any transaction goes to the real pool, uncontrolled.
  const pool = new Proxy(real, {
    get: (target, name) => {
      if (name === 'connect') return connect;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return { pool, run: (attempt, body) => running.run(attempt, body), current: () => running.getStore() };
}

async function backendOf(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

type Query = (...args: readonly unknown[]) => unknown;

function control(client: PoolClient, backend: number, attempt: Attempt, committed: () => Promise<void>): PoolClient {
  let isLost = false;
  // pg's own overloads do not describe "whatever arguments it takes".
  const send = client.query.bind(client) as unknown as (...args: readonly unknown[]) => Promise<unknown>;

  const lose = async (text: string): Promise<never> => {
    isLost = true;
    attempt.fault = null;
    attempt.lostAt = text;
    attempt.isInTransaction = false;
    // For the database this is what a lost session is: rolled back, its locks gone. A new one would take longer.
    await send('rollback; select pg_advisory_unlock_all()');
    client.release();
    throw connectionLost();
  };

  // As a session does it: the next statement is sent when the one before is answered, and has its turn only then.
  const sendInTurn = (text: string, args: readonly unknown[]): Promise<unknown> =>
    attempt.inOrder(() => sendNow(text, args));

  const sendNow = async (text: string, args: readonly unknown[]): Promise<unknown> => {
    if (isLost) throw connectionLost();
    await attempt.lane?.take();
    attempt.statements.push(text);
    const number = attempt.statements.length;
    const isFaulty = (when: 'before' | 'after'): boolean =>
      attempt.fault !== null && attempt.fault.when === when && attempt.fault.at === number;
    try {
      if (isFaulty('before')) return await lose(text);
      attempt.lane?.sent(backend);
      const result = await send(...args);
      noteTransaction(attempt, text);
      if (isCommit(text)) await committed();
      if (isFaulty('after')) return await lose(text);
      return result;
    } catch (error) {
      if (sqlstateOf(error) === DEADLOCK) attempt.deadlocks += 1;
      throw error;
    } finally {
      attempt.lane?.returned();
    }
  };

  const query: Query = (...args) => {
    const text = textOf(args[0]);
    // Cursors and streams are submitted whole; they are not stepped through.
    if (text === undefined) return send(...args);
    const last = args.at(-1);
    if (typeof last !== 'function') return sendInTurn(text, args);
    const answer = last as (error: unknown, result?: unknown) => void;
    sendInTurn(text, args.slice(0, -1)).then(
      (result) => {
        answer(null, result);
      },
      (error: unknown) => {
        answer(error);
      },
    );
    return undefined;
  };

  const release: PoolClient['release'] = (destroy) => {
    attempt.isInTransaction = false;
    if (!isLost) client.release(destroy);
  };

  return new Proxy(client, {
    get: (target, name) => {
      if (name === 'query') return query;
      if (name === 'release') return release;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function noteTransaction(attempt: Attempt, text: string): void {
  if (/^\s*begin\b/i.test(text)) attempt.isInTransaction = true;
  else if (isCommit(text) || /^\s*rollback\s*$/i.test(text)) attempt.isInTransaction = false;
}

function isCommit(text: string): boolean {
  return /^\s*commit\b/i.test(text);
}

function textOf(query: unknown): string | undefined {
  if (typeof query === 'string') return query;
  if (typeof query !== 'object' || query === null || 'submit' in query || !('text' in query)) return undefined;
  return typeof query.text === 'string' ? query.text : undefined;
}

/** As pg says it; see `CONNECTION_MESSAGES` in the error table. */
function connectionLost(): Error {
  return new Error('Connection terminated unexpectedly');
}

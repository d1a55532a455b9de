import type { Lane } from './turns.js';

/** One run of an event or step, as the sessions that it works on see it. */
export interface Attempt {
  /** Every statement sent, over all repetitions of the run. */
  readonly statements: string[];
  /** Where its session is to be lost; taken away when it was. */
  fault: { readonly when: 'before' | 'after'; readonly at: number } | null;
  /** The statement at which the session was lost. */
  lostAt: string | null;
  isInTransaction: boolean;
  /** Deadlocks that ended a statement of it (SQLSTATE 40P01). */
  deadlocks: number;
  /** Its place beside another attempt; null when it runs alone. */
  readonly lane: Lane | null;
  /** Runs one after the other what is handed to it at once: a handler may send statements without awaiting each. */
  readonly inOrder: <Result>(body: () => Promise<Result>) => Promise<Result>;
}

export function newAttempt(fault: Attempt['fault'], lane: Lane | null): Attempt {
  return { statements: [], fault, lostAt: null, isInTransaction: false, deadlocks: 0, lane, inOrder: createQueue() };
}

function createQueue(): Attempt['inOrder'] {
  let last: Promise<unknown> = Promise.resolve();
  return (body) => {
    const own = last.then(body);
    last = own.catch(() => undefined);
    return own;
  };
}

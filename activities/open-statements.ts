/** Statements that were sent and have no answer yet. */
export interface OpenStatements {
  readonly count: () => number;
  readonly watch: (answer: Promise<unknown>) => void;
  /** Ends once there is none, nor one more as the next step of code that was waiting for an answer. */
  readonly allAnswered: () => Promise<void>;
}

export function createOpenStatements(): OpenStatements {
  const open = new Set<Promise<void>>();
  return {
    count: () => open.size,
    watch: (answer) => {
      const forget = (): void => {
        open.delete(end);
      };
      const end = answer.then(forget, forget);
      open.add(end);
    },
    allAnswered: async () => {
      do {
        await Promise.all(open);
        await microtasksDone();
      } while (open.size > 0);
    },
  };
}

/** Taken before a handler's tests can put a clock of their own in its place, under which it might never fire. */
const nextTurn = setImmediate;

/** Query builders take several steps from a call to the statement that it sends; all of them come first. */
export function microtasksDone(): Promise<void> {
  return new Promise((resolve) => {
    nextTurn(resolve);
  });
}

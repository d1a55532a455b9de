/** A point where work stops until the test lets it go on. */
export interface Gate {
  /** Resolves when something has arrived. */
  readonly reached: Promise<void>;
  readonly pass: () => Promise<void>;
  readonly open: () => void;
}

export function createGate(): Gate {
  let arrive: () => void = () => undefined;
  let open: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    reached,
    open,
    pass: () => {
      arrive();
      return opened;
    },
  };
}

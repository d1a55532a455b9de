/** One of two attempts that take turns. */
export interface Lane {
  /** Resolves when this lane may send its next statement. */
  readonly take: () => Promise<void>;
  /** A statement is on its way, in the session of that backend. */
  readonly sent: (backend: number) => void;
  readonly returned: () => void;
  readonly ended: () => void;
}

export interface Turns {
  readonly lanes: readonly [Lane, Lane];
  /** Gives turns until both lanes have ended. */
  readonly conduct: () => Promise<void>;
}

interface LaneState {
  /** `thinking`: its code runs. `ready`: it wants to send. `sent`, `blocked`: a statement is out, and may wait for a lock. */
  at: 'thinking' | 'ready' | 'sent' | 'blocked' | 'ended';
  backend: number;
  go: () => void;
}

/** A statement that took longer than this may be waiting for a lock; PostgreSQL is asked, in milliseconds. */
const SUSPICIOUS_MS = 4;

/** A lane that sends nothing for this long does not hold the other up any longer, in milliseconds. */
const THINKING_MS = 250;

/**
 * Lets two attempts run statement by statement in a given pattern. A lock that PostgreSQL confirms changes the pattern, on
 * a fast machine as on a slow one; so does a lane whose own code takes longer than `THINKING_MS` between two statements,
 * which depends on the machine.
 * @param pattern how many statements the first lane sends, then the second, then the first again, and so on
 * @param isBlocked asks PostgreSQL whether the backend waits for another one's lock
 */
export function createTurns(pattern: readonly number[], isBlocked: (backend: number) => Promise<boolean>): Turns {
  const states: readonly [LaneState, LaneState] = [newState(), newState()];
  const bell = createBell();
  const choose = chooser(pattern, states);

  const laneOf = (state: LaneState): Lane => ({
    take: () =>
      new Promise((resolve) => {
        state.go = resolve;
        state.at = 'ready';
        bell.ring();
      }),
    sent: (backend) => {
      state.backend = backend;
      state.at = 'sent';
    },
    returned: () => {
      state.at = 'thinking';
      bell.ring();
    },
    ended: () => {
      state.at = 'ended';
      bell.ring();
    },
  });

  const conduct = async (): Promise<void> => {
    while (states.some(({ at }) => at !== 'ended')) {
      if (await isUnsettled(states, bell, isBlocked)) continue;
      const chosen = choose();
      if (chosen === undefined) {
        // Both wait for locks, of each other or of somebody else: PostgreSQL ends that.
        await bell.wait(SUSPICIOUS_MS);
        continue;
      }
      chosen.at = 'sent';
      chosen.backend = 0;
      chosen.go();
    }
  };
  return { lanes: [laneOf(states[0]), laneOf(states[1])], conduct };
}

function newState(): LaneState {
  return { at: 'thinking', backend: 0, go: () => undefined };
}

/** Waits for whatever is under way; true when something may have changed. */
async function isUnsettled(
  states: readonly LaneState[],
  bell: Bell,
  isBlocked: (backend: number) => Promise<boolean>,
): Promise<boolean> {
  if (states.some(({ at }) => at === 'thinking')) {
    const rang = await bell.wait(THINKING_MS);
    if (rang || !states.some(({ at }) => at === 'ready')) return true;
  }
  for (const state of states) {
    if (state.at === 'sent') {
      const rang = await bell.wait(SUSPICIOUS_MS);
      if (!rang && isStill(state, 'sent') && (await isBlocked(state.backend)) && isStill(state, 'sent')) {
        state.at = 'blocked';
      }
      return true;
    }
    // The other one may have let go of the lock since.
    if (state.at === 'blocked' && !(await isBlocked(state.backend)) && isStill(state, 'blocked')) {
      state.at = 'sent';
      return true;
    }
  }
  return false;
}

/** Narrowing does not see that the lane moves on while this code awaits. */
function isStill(state: LaneState, at: LaneState['at']): boolean {
  return state.at === at;
}

function chooser(pattern: readonly number[], states: readonly [LaneState, LaneState]): () => LaneState | undefined {
  let current: 0 | 1 = 0;
  let next = 1;
  let left = pattern[0] ?? Infinity;
  const change = (): void => {
    current = current === 0 ? 1 : 0;
    left = pattern[next] ?? Infinity;
    next += 1;
  };
  return () => {
    if (left === 0) change();
    if (states[current].at !== 'ready') change();
    if (states[current].at !== 'ready') return undefined;
    left -= 1;
    return states[current];
  };
}

interface Bell {
  readonly ring: () => void;
  /** Resolves with true when it rings, with false when it has not within that time. */
  readonly wait: (ms: number) => Promise<boolean>;
}

function createBell(): Bell {
  let rung = false;
  let waiting: (() => void) | undefined;
  return {
    ring: () => {
      rung = true;
      waiting?.();
    },
    wait: async (ms) => {
      if (!rung) {
        let timer: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          waiting = resolve;
          timer = setTimeout(resolve, ms);
        });
        clearTimeout(timer);
        waiting = undefined;
      }
      const rang = rung;
      rung = false;
      return rang;
    },
  };
}

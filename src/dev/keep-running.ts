import { setTimeout as pause } from 'node:timers/promises';
import { isAlive } from './processes.js';
import type { Progress } from './progress.js';

/** A process of the stack. */
export interface Part {
  readonly pid: number;
  /** Finished when it is gone; also lets go of what it held when it is gone already. */
  stop(): Promise<void>;
}

export interface KeepOptions<P extends Part> {
  readonly name: string;
  /** Starts it again where it was, `last` being gone. */
  readonly restart: (last: P) => Promise<P>;
  readonly onProgress: Progress;
  /** Told one line when the part ends again and again; the stack is of no use without it. */
  readonly onHopeless: (line: string) => void;
}

const LOOK_EVERY_MS = 300;
const FIRST_PAUSE_MS = 500;
const WINDOW_MS = 60_000;
const DEATHS_IN_WINDOW = 5;

/** Looks after a part: one that ends by itself is started again after a growing pause; after five ends within a minute it is given up. */
export function keepRunning<P extends Part>(first: P, options: KeepOptions<P>): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const watch = watchOver(first, options, stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await (await watch)?.stop();
    },
  };
}

/** Ends with the part that runs when told to stop, or with none. */
async function watchOver<P extends Part>(
  first: P,
  options: KeepOptions<P>,
  signal: AbortSignal,
): Promise<P | undefined> {
  const { name, restart, onProgress, onHopeless } = options;
  let part = first;
  let deaths: number[] = [];
  while (await stillWanted(LOOK_EVERY_MS, signal)) {
    if (isAlive(part.pid)) continue;
    deaths = [...deaths.filter((time) => time > Date.now() - WINDOW_MS), Date.now()];
    if (deaths.length >= DEATHS_IN_WINDOW) {
      onHopeless(`${name} ended ${deaths.length} times within a minute`);
      return undefined;
    }
    onProgress(`${name} (process ${part.pid}) ended unexpectedly: starting it again`);
    if (!(await stillWanted(FIRST_PAUSE_MS * 2 ** (deaths.length - 1), signal))) return undefined;
    try {
      await part.stop();
      part = await restart(part);
      onProgress(`${name} runs again (process ${part.pid})`);
    } catch (error) {
      // Whatever stands in the way may go away, such as a connection that has its port; if not, the next look counts again.
      onProgress(`${name} could not be started again: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return part;
}

async function stillWanted(afterMs: number, signal: AbortSignal): Promise<boolean> {
  await pause(afterMs, undefined, { signal }).catch(() => undefined); // rejects when told to stop
  return !signal.aborted;
}

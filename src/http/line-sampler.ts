/** Lines of one cause that are written per second; the rest are counted. */
const LINES_PER_SECOND = 10;
const WINDOW_MS = 1_000;

export interface LineSampler {
  /** Whether a line of this cause may be written now; if not, it is counted. */
  allows(cause: string): boolean;
  /** Reports what is still counted and stops all timers. */
  stop(): void;
}

/**
 * Keeps a flood of refusals from becoming a flood of log lines: at most 10 a second per cause. What was left out is
 * reported once per second, so that the size of the flood is not lost. `cause` must come from a closed set.
 */
export function createLineSampler(report: (cause: string, suppressed: number) => void): LineSampler {
  const windows = new Map<string, { written: number; suppressed: number; timer: NodeJS.Timeout }>();
  const close = (cause: string): void => {
    const window = windows.get(cause);
    windows.delete(cause);
    clearTimeout(window?.timer);
    if (window !== undefined && window.suppressed > 0) report(cause, window.suppressed);
  };
  const open = (cause: string): void => {
    const timer = setTimeout(close, WINDOW_MS, cause);
    timer.unref();
    windows.set(cause, { written: 1, suppressed: 0, timer });
  };
  return {
    allows: (cause) => {
      const window = windows.get(cause);
      if (window === undefined) {
        open(cause);
        return true;
      }
      if (window.written < LINES_PER_SECOND) {
        window.written += 1;
        return true;
      }
      window.suppressed += 1;
      return false;
    },
    stop: () => {
      [...windows.keys()].forEach(close);
    },
  };
}

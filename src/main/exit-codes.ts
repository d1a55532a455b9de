/** Exit codes of every command, for scripts. */
export const EXIT = {
  /** Done, or nothing to do. */
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  /** `--wait` ended before the event did; what was asked for stands. */
  waitEnded: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

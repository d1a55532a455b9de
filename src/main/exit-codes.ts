/** Exit codes of every command, for scripts. */
export const EXIT = {
  /** Done, or nothing to do. */
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  /** `--wait` ended before the event did; what was asked for stands. */
  waitEnded: 4,
  /** Ended by SIGINT and SIGTERM, as shells have it: 128 and the signal's number. */
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

import type { Progress } from './progress.js';

/** Has the server 1.29.1 and the UI 2.42.1 that oncehook is tested with. */
export const TEMPORAL_CLI_VERSION = '1.5.1';

/** Puts a `temporal` program at `file`, or throws with one line that says why it could not. */
export type Fetcher = (request: FetchRequest) => Promise<void>;

export interface FetchRequest {
  /** An empty folder to work in, deleted afterwards. */
  readonly dir: string;
  /** In `dir`. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress: Progress;
  readonly signal?: AbortSignal;
}

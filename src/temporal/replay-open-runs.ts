import type { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { CommandError } from '../errors.js';
import {
  countOpenRuns,
  fetchHistories,
  isOpen,
  listOpenRuns,
  openRunsQuery,
  type OpenRun,
  type OpenRunsFilter,
  type RunHistory,
} from './open-runs.js';
import type { WorkflowCode } from './create-worker.js';

export interface ReplayOptions extends OpenRunsFilter {
  readonly client: Client;
  /** The workflows to replay on. */
  readonly code: WorkflowCode;
  /** At most so many histories; all by default. */
  readonly limit?: number | undefined;
  /** Called before the SDK's native part is used, which a process must not begin without using it: it would not end. */
  readonly beforeReplay?: () => void;
  /** Told now and then how many are done, of how many that were counted at the beginning. */
  readonly onProgress?: (done: number, of: number) => void;
}

export interface FailedReplay extends OpenRun {
  readonly reason: string;
}

export interface ReplayReport {
  /** The visibility query that was asked. */
  readonly query: string;
  /** Matching runs, counted at the beginning. */
  readonly open: number;
  readonly replayed: number;
  /** Nothing of them has run yet, so there is nothing that the code could contradict. */
  readonly notBegun: number;
  /** Ended while the check was under way. */
  readonly ended: number;
  readonly failed: readonly FailedReplay[];
}

/**
 * Replays what is open against workflow code, as a worker with this code would when it takes the runs over. Only reads.
 * A run that fails is looked at a second time with a fresh history: one that moved on or ended meanwhile has not failed.
 * @throws the client's error when Temporal does not answer or refuses the query; CommandError when the code does not load.
 */
export async function replayOpenRuns(options: ReplayOptions): Promise<ReplayReport> {
  const { client, code, limit = Infinity, beforeReplay = () => undefined, onProgress = () => undefined } = options;
  const query = openRunsQuery(options);
  const open = await countOpenRuns(client, query);
  const counts = { replayed: 0, notBegun: 0, ended: 0 };
  const done = (): number => counts.replayed + counts.notBegun + counts.ended;

  const listed = fetchHistories(client, listOpenRuns(client, query, limit));
  beforeReplay();
  const suspects = await replay(code, listed, (result) => {
    counts[result] += 1;
    onProgress(done(), Math.min(Math.max(open, done()), limit));
  });
  return { query, open, ...counts, failed: suspects.length === 0 ? [] : await stillFailing(options, suspects) };
}

async function stillFailing(
  { client, code, beforeReplay = () => undefined }: ReplayOptions,
  suspects: readonly OpenRun[],
): Promise<readonly FailedReplay[]> {
  beforeReplay();
  const failed = await replay(code, fetchHistories(client, suspects));
  const isStillOpen = await Promise.all(failed.map((run) => isOpen(client, run)));
  return failed.filter((_, index) => isStillOpen[index]);
}

/** @returns the runs that the code contradicts. */
async function replay(
  code: WorkflowCode,
  histories: AsyncIterable<RunHistory | null>,
  note: (result: 'replayed' | 'notBegun' | 'ended') => void = () => undefined,
): Promise<readonly FailedReplay[]> {
  const failed: FailedReplay[] = [];
  const taken: RunHistory[] = [];
  const fetched = failuresOf(histories);
  const replayable = async function* (): AsyncGenerator<RunHistory> {
    for await (const run of fetched.items) {
      if (run === null) note('ended');
      else if (!hasBegun(run)) note('notBegun');
      else {
        taken.push(run);
        yield run;
      }
    }
  };
  try {
    // One at a time: a result belongs to the history that was taken last.
    for await (const { error } of Worker.runReplayHistories({ ...code }, replayable())) {
      const run = taken.pop();
      if (run === undefined) continue;
      const { workflowId, runId, type } = run;
      if (error !== undefined) failed.push({ workflowId, runId, type, reason: reasonOf(error) });
      note('replayed');
    }
  } catch (error) {
    // What the fetches met may come out wrapped.
    for (const cause of fetched.failures) throw cause;
    const says = error instanceof Error ? error.message : String(error);
    throw new CommandError('failed', `The workflow bundle does not load (${firstLine(says)}): build it again`, {
      cause: error,
    });
  }
  return failed;
}

/** Items with what their source failed by, for whoever gets to see another error instead. */
function failuresOf<Item>(source: AsyncIterable<Item>): { items: AsyncIterable<Item>; failures: readonly unknown[] } {
  const failures: unknown[] = [];
  const pass = async function* (): AsyncGenerator<Item> {
    try {
      yield* source;
    } catch (error) {
      failures.push(error);
      throw error;
    }
  };
  return { items: pass(), failures };
}

/** A run whose first workflow task nobody has answered. */
function hasBegun({ history }: RunHistory): boolean {
  return (history.events ?? []).some(({ workflowTaskCompletedEventAttributes: completed }) => completed != null);
}

const MAX_REASON_LENGTH = 400;

/** The SDK says the same of every one, then what differs. */
function reasonOf({ message }: Error): string {
  const [, details = message] = /Details: ([^]*)/.exec(message) ?? [];
  return firstLine(details).slice(0, MAX_REASON_LENGTH);
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').trim();
}

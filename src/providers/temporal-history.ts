import type { Client } from '@temporalio/client';
import { inTime, type WorkflowRun } from './temporal-calls.js';
import { isWorkflowNotFound } from './temporal-failure.js';

/** Where a signal says which operation it is of. A header is read without the user's data converter. */
export const OPERATION_HEADER = 'oncehook-operation';

/** Pages of one look and events of a page; enough for a workflow that got thousands of signals since the send. */
const MAX_PAGES = 20;
const PAGE_SIZE = 500;

/** Between the clocks of our database and of Temporal, and longer than a call may be on its way; in milliseconds. */
const MARGIN_MS = 300_000;

/** Visibility on SQL finds no ID that holds one of these, however it is quoted (tried on 1.29.1). */
const UNQUERYABLE = /["\\]/;

export interface SignalSearch {
  readonly workflowId: string;
  /** The newest run; the search goes back from it. */
  readonly newest: WorkflowRun;
  /** What the signal's header must say. */
  readonly mark: string;
  readonly firstSentAt: Date;
  /** Whether to search runs, too, that were started anew under the same ID. */
  readonly allRuns: boolean;
  readonly signal: AbortSignal;
}

/** `unclear`: not all could be read. */
export type SearchResult = 'found' | 'absent' | 'unclear';

/**
 * Looks whether a signal of ours is in the history of a workflow: newest events first, back to the first send, through
 * the runs that it continued from, and where wanted through all runs of its ID.
 * @throws the client's error when Temporal does not answer.
 */
export async function findSignal(client: Client, search: SignalSearch): Promise<SearchResult> {
  const sinceMs = search.firstSentAt.getTime() - MARGIN_MS;
  const queue = [search.newest.runId];
  const seen = new Set<string>();
  for (let pages = 0; ;) {
    const runId = queue.pop();
    if (runId === undefined) return 'absent';
    seen.add(runId);
    let nextPageToken: Uint8Array | null = null;
    for (;;) {
      if (pages === MAX_PAGES) return 'unclear';
      pages += 1;
      const page = await readBackwards(client, search, runId, nextPageToken);
      // Retention took a run that may have had it.
      if (page === undefined) return 'unclear';
      if (page.events.some((event) => event.mark === search.mark)) return 'found';
      const [oldest] = page.events.slice(-1);
      if (oldest !== undefined && oldest.timeMs < sinceMs) break;
      nextPageToken = page.nextPageToken;
      if (nextPageToken !== null) continue;
      const earlier = oldest?.continuedFrom;
      const others = earlier ? [earlier] : search.allRuns ? await otherRuns(client, search, sinceMs) : [];
      if (others === undefined) return 'unclear';
      queue.push(...others.filter((id) => !seen.has(id) && !queue.includes(id)));
      break;
    }
  }
}

interface SeenEvent {
  readonly timeMs: number;
  /** What the header of a signal of ours says. */
  readonly mark: string | undefined;
  /** Of a run's first event: the run before it. */
  readonly continuedFrom: string | null | undefined;
}

async function readBackwards(
  client: Client,
  { workflowId, signal }: SignalSearch,
  runId: string,
  nextPageToken: Uint8Array | null,
): Promise<{ readonly events: readonly SeenEvent[]; readonly nextPageToken: Uint8Array | null } | undefined> {
  const answer = await inTime(client, signal, () =>
    client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: client.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: PAGE_SIZE,
      nextPageToken,
    }),
  ).catch((error: unknown) => {
    if (isWorkflowNotFound(error)) return undefined;
    throw error;
  });
  if (answer === undefined) return undefined;
  const events = (answer.history?.events ?? []).map((event) => ({
    timeMs: Number(event.eventTime?.seconds ?? 0) * 1_000,
    mark: markOf(event.workflowExecutionSignaledEventAttributes?.header?.fields?.[OPERATION_HEADER]?.data),
    continuedFrom: event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId,
  }));
  return { events, nextPageToken: answer.nextPageToken.length > 0 ? answer.nextPageToken : null };
}

/** The header holds one JSON string. */
function markOf(data: Uint8Array | null | undefined): string | undefined {
  return data === null || data === undefined ? undefined : Buffer.from(data).toString('utf8').slice(1, -1);
}

/**
 * Runs of the ID that are no part of the newest one's chain. Read from the visibility store, which is some seconds
 * behind; a run that took a signal of ours is older than that, since a lost answer is not looked at before.
 * @returns `undefined` for an ID that the store cannot be asked for.
 */
async function otherRuns(
  client: Client,
  { workflowId, signal }: SignalSearch,
  sinceMs: number,
): Promise<readonly string[] | undefined> {
  if (UNQUERYABLE.test(workflowId)) return undefined;
  const { executions } = await inTime(client, signal, () =>
    client.workflowService.listWorkflowExecutions({
      namespace: client.options.namespace,
      query: `WorkflowId = '${workflowId.replaceAll("'", "''")}'`,
      pageSize: PAGE_SIZE,
    }),
  );
  return executions
    .filter(({ closeTime }) => !closeTime || Number(closeTime.seconds ?? 0) * 1_000 >= sinceMs)
    .flatMap(({ execution }) => execution?.runId ?? []);
}

import type { Client } from '@temporalio/client';
import { inTime, type WorkflowRun } from './temporal-calls.js';
import { isWorkflowNotFound } from './temporal-failure.js';

/** Where a signal says which operation it is of. A header is read without the user's data converter. */
export const OPERATION_HEADER = 'oncehook-operation';

/** Pages of one search, of as many events as a server gives at once; more is not read within the time of a look. */
const MAX_PAGES = 20;
const PAGE_SIZE = 256;

/** What the clocks of our database and of Temporal may be apart, in milliseconds. */
const MARGIN_MS = 60_000;

/** Visibility on SQL finds no ID that holds one of these, however it is quoted (tried on 1.29.1). */
const UNQUERYABLE = /["\\]/;

export interface SignalSearch {
  readonly workflowId: string;
  /** The newest run; the search goes back from it. */
  readonly newest: WorkflowRun;
  /** What the signal's header must say. */
  readonly mark: string;
  readonly firstSentAt: Date;
  readonly signal: AbortSignal;
}

/** `unclear`: not all could be read. */
export type SearchResult = 'found' | 'absent' | 'unclear';

/**
 * Whether a signal of ours is in a run before the newest one: in those that it continued from, or in others of its ID.
 * Nothing is asked where the newest run was there before the first send: all that was sent went to it.
 * @throws the client's error when Temporal does not answer.
 */
export async function findInEarlierRuns(client: Client, search: SignalSearch): Promise<SearchResult> {
  const { newest } = search;
  if (newest.startedMs < sinceMsOf(search)) return 'absent';
  const runIds = await runsBefore(client, search, newest.runId);
  return runIds === undefined ? 'unclear' : findIn(client, search, runIds);
}

/** Whether a signal of ours is in the newest run, or in one that it continued from. */
export function findInChain(client: Client, search: SignalSearch): Promise<SearchResult> {
  return findIn(client, search, [search.newest.runId]);
}

function sinceMsOf({ firstSentAt }: SignalSearch): number {
  return firstSentAt.getTime() - MARGIN_MS;
}

async function findIn(client: Client, search: SignalSearch, runIds: readonly string[]): Promise<SearchResult> {
  const queue = [...runIds];
  const pages = { left: MAX_PAGES };
  for (let runId = queue.pop(); runId !== undefined; runId = queue.pop()) {
    const result = await searchRun(client, search, runId, pages);
    if (typeof result === 'string') return result;
    if (result.continuedFrom !== null) queue.push(result.continuedFrom);
  }
  return 'absent';
}

/** Reads a run from its end back to the first send. */
async function searchRun(
  client: Client,
  search: SignalSearch,
  runId: string,
  pages: { left: number },
): Promise<'found' | 'unclear' | { readonly continuedFrom: string | null }> {
  const { workflowId, mark, signal } = search;
  const sinceMs = sinceMsOf(search);
  for (let nextPageToken: Uint8Array | null = null; ;) {
    if (pages.left === 0) return 'unclear';
    pages.left -= 1;
    const page = await orGone(() =>
      inTime(client, signal, () =>
        client.workflowService.getWorkflowExecutionHistoryReverse({
          namespace: client.options.namespace,
          execution: { workflowId, runId },
          maximumPageSize: PAGE_SIZE,
          nextPageToken,
        }),
      ),
    );
    // Retention took a run that may have had it.
    if (page === undefined) return 'unclear';
    const events = page.history?.events ?? [];
    if (events.some((event) => markOf(event.workflowExecutionSignaledEventAttributes) === mark)) return 'found';
    const oldest = events.at(-1);
    if (oldest !== undefined && Number(oldest.eventTime?.seconds ?? 0) * 1_000 < sinceMs)
      return { continuedFrom: null };
    nextPageToken = page.nextPageToken;
    if (nextPageToken.length === 0) return { continuedFrom: continuedFrom(oldest) };
  }
}

/** The run before one, or else all others of its ID; `undefined` when they cannot be known. */
async function runsBefore(
  client: Client,
  { workflowId, newest, signal, ...search }: SignalSearch,
  runId: string,
): Promise<readonly string[] | undefined> {
  if (newest.firstRunId !== newest.runId) {
    const page = await inTime(client, signal, () =>
      client.workflowService.getWorkflowExecutionHistory({
        namespace: client.options.namespace,
        execution: { workflowId, runId },
        maximumPageSize: 1,
      }),
    );
    const before = continuedFrom(page.history?.events?.[0]);
    if (before !== null) return [before];
  }
  return otherRuns(client, { workflowId, newest, signal, ...search });
}

/**
 * Runs of the ID beside the newest. Read from the visibility store, which is some seconds behind; a run that took a
 * signal of ours is older than that, since a lost answer is not looked at before.
 */
async function otherRuns(client: Client, search: SignalSearch): Promise<readonly string[] | undefined> {
  const { workflowId, newest, signal } = search;
  if (UNQUERYABLE.test(workflowId)) return undefined;
  const { executions } = await inTime(client, signal, () =>
    client.workflowService.listWorkflowExecutions({
      namespace: client.options.namespace,
      query: `WorkflowId = '${workflowId.replaceAll("'", "''")}'`,
      pageSize: PAGE_SIZE,
    }),
  );
  return executions
    .filter(({ closeTime }) => !closeTime || Number(closeTime.seconds ?? 0) * 1_000 >= sinceMsOf(search))
    .flatMap(({ execution }) => execution?.runId ?? [])
    .filter((runId) => runId !== newest.runId);
}

async function orGone<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isWorkflowNotFound(error)) return undefined;
    throw error;
  }
}

type HistoryEvent = NonNullable<
  NonNullable<Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistoryReverse']>>['history']>['events']
>[number];

/** Of a run's first event: the run before it. */
function continuedFrom(first: HistoryEvent | undefined): string | null {
  const runId = first?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  return runId === '' ? null : runId;
}

/** What the header says: one JSON string. */
function markOf(attributes: HistoryEvent['workflowExecutionSignaledEventAttributes']): string | undefined {
  const data = attributes?.header?.fields?.[OPERATION_HEADER]?.data;
  return data === null || data === undefined ? undefined : Buffer.from(data).toString('utf8').slice(1, -1);
}

import type { Client } from '@temporalio/client';
import { inTime, type WorkflowRun } from './temporal-calls.js';
import { isWorkflowNotFound } from './temporal-failure.js';

/** Where a signal says which operation it is of. A header is read without the user's data converter. */
export const OPERATION_HEADER = 'oncehook-operation';

/** Pages of one search, of as many events as a server gives at once; more is not read within the time of a look. */
const MAX_PAGES = 20;
const PAGE_SIZE = 256;

/** More runs than this have more pages than are read. */
const MAX_RUNS = 100;

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
 * Whether a signal of ours is in a run before the newest one: in those that it continued from, and where these began
 * after the first send, in others of its ID. Nothing is asked where the newest run was there before the first send: all
 * that was sent went to it.
 * @throws the client's error when Temporal does not answer.
 */
export async function findInEarlierRuns(client: Client, search: SignalSearch): Promise<SearchResult> {
  if (search.newest.startedMs < sinceMsOf(search)) return 'absent';
  const progress: Progress = { pagesLeft: MAX_PAGES, seen: new Set([search.newest.runId]) };
  const result = await searchChain(client, search, await runBeforeNewest(client, search), progress);
  return result === 'began' ? findInOtherRuns(client, search, progress) : result;
}

/** Whether a signal of ours is in the newest run, or in one that it continued from. */
export async function findInChain(client: Client, search: SignalSearch): Promise<SearchResult> {
  const progress: Progress = { pagesLeft: MAX_PAGES, seen: new Set() };
  const result = await searchChain(client, search, search.newest.runId, progress);
  return result === 'began' ? 'absent' : result;
}

/** Of one search, over all that it reads. */
interface Progress {
  pagesLeft: number;
  readonly seen: Set<string>;
}

function sinceMsOf({ firstSentAt }: SignalSearch): number {
  return firstSentAt.getTime() - MARGIN_MS;
}

async function findInOtherRuns(client: Client, search: SignalSearch, progress: Progress): Promise<SearchResult> {
  const runIds = await runsSinceFirstSend(client, search);
  if (runIds === undefined) return 'unclear';
  for (const runId of runIds) {
    const result = await searchChain(client, search, runId, progress);
    if (result === 'found' || result === 'unclear') return result;
  }
  return 'absent';
}

/**
 * Reads runs from one back to those that it continued from, as far as the first send.
 * @returns `began` when nothing was found and the chain began after that.
 */
async function searchChain(
  client: Client,
  search: SignalSearch,
  last: string | null,
  progress: Progress,
): Promise<SearchResult | 'began'> {
  for (let runId = last; runId !== null && !progress.seen.has(runId);) {
    progress.seen.add(runId);
    const result = await searchRun(client, search, runId, progress);
    if (typeof result === 'string') return result;
    runId = result.continuedFrom;
  }
  return 'began';
}

/** Reads a run from its end back to the first send; `absent` when it was there before that. */
async function searchRun(
  client: Client,
  search: SignalSearch,
  runId: string,
  progress: Progress,
): Promise<SearchResult | { readonly continuedFrom: string | null }> {
  const { workflowId, mark, signal } = search;
  const sinceMs = sinceMsOf(search);
  for (let nextPageToken: Uint8Array | null = null; ;) {
    if (progress.pagesLeft === 0) return 'unclear';
    progress.pagesLeft -= 1;
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
    if (oldest !== undefined && Number(oldest.eventTime?.seconds ?? 0) * 1_000 < sinceMs) return 'absent';
    nextPageToken = page.nextPageToken;
    if (nextPageToken.length === 0) return { continuedFrom: continuedFrom(oldest) };
  }
}

/** The run that the newest one continued from. */
async function runBeforeNewest(client: Client, { workflowId, newest, signal }: SignalSearch): Promise<string | null> {
  if (newest.firstRunId === newest.runId) return null;
  const page = await inTime(client, signal, () =>
    client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId, runId: newest.runId },
      maximumPageSize: 1,
    }),
  );
  return continuedFrom(page.history?.events?.[0]);
}

/**
 * Runs of the ID that were open at the first send or later; `undefined` when they cannot be known. Read from the
 * visibility store, which is some seconds behind; a run that took a signal of ours is older than that, since a lost
 * answer is not looked at before.
 */
async function runsSinceFirstSend(client: Client, search: SignalSearch): Promise<readonly string[] | undefined> {
  const { workflowId, signal } = search;
  if (UNQUERYABLE.test(workflowId)) return undefined;
  const since = new Date(sinceMsOf(search)).toISOString();
  const { executions, nextPageToken } = await inTime(client, signal, () =>
    client.workflowService.listWorkflowExecutions({
      namespace: client.options.namespace,
      query: `WorkflowId = '${workflowId.replaceAll("'", "''")}' AND (CloseTime IS NULL OR CloseTime >= '${since}')`,
      pageSize: MAX_RUNS,
    }),
  );
  return executions.length < MAX_RUNS || nextPageToken.length === 0
    ? executions.flatMap(({ execution }) => execution?.runId ?? [])
    : undefined;
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

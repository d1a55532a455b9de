import { WorkflowNotFoundError, type Client, type WorkflowHandle } from '@temporalio/client';

/** The workflow types that oncehook starts; workflows/index.ts exports them. */
const OUR_WORKFLOWS = ['processWebhookEvent', 'processOperation'];

/** One open run as the visibility store lists it. */
export interface OpenRun {
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
}

export interface RunHistory extends OpenRun {
  readonly history: Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
}

export interface OpenRunsFilter {
  readonly taskQueue: string;
  /** A visibility query of the user's, narrowing further. */
  readonly query?: string | undefined;
  /** All workflow types of the task queue, and not only ours. */
  readonly everyType?: boolean | undefined;
}

/** Pages are this long, and histories are fetched so many at a time: a check must not crowd out the work. */
const PAGE_SIZE = 100;
const FETCHES_AT_ONCE = 8;

/** One page, or one history; in milliseconds. */
const CALL_DEADLINE_MS = 20_000;

export function openRunsQuery({ taskQueue, query, everyType = false }: OpenRunsFilter): string {
  const types = OUR_WORKFLOWS.map((type) => `WorkflowType = "${type}"`).join(' OR ');
  return [
    `TaskQueue = ${JSON.stringify(taskQueue)}`,
    'ExecutionStatus = "Running"',
    ...(everyType ? [] : [`(${types})`]),
    ...(query === undefined ? [] : [`(${query})`]),
  ].join(' AND ');
}

/** How many match now; the visibility store may lag by a moment. */
export async function countOpenRuns(client: Client, query: string): Promise<number> {
  const { count } = await inTime(client, () => client.workflow.count(query));
  return count;
}

/** What matches, at most `limit` of them, page by page. */
export async function* listOpenRuns(client: Client, query: string, limit: number): AsyncGenerator<OpenRun> {
  const listed = client.workflow.list({ query, pageSize: Math.min(limit, PAGE_SIZE) })[Symbol.asyncIterator]();
  for (let left = limit; left > 0; left -= 1) {
    const next = await inTime(client, () => listed.next());
    if (next.done === true) return;
    const { workflowId, runId, type } = next.value;
    yield { workflowId, runId, type };
  }
}

/**
 * The histories of runs as they stand now, in the order of the runs, some of them fetched ahead.
 * @returns `null` in the place of a run that is gone meanwhile.
 */
export async function* fetchHistories(
  client: Client,
  runs: AsyncIterable<OpenRun> | Iterable<OpenRun>,
): AsyncGenerator<RunHistory | null> {
  const ahead: Promise<RunHistory | null>[] = [];
  for await (const run of runs) {
    const fetching = fetchHistory(client, run);
    // It is awaited in its turn; until then, its failure must not count as nobody's.
    fetching.catch(() => undefined);
    ahead.push(fetching);
    if (ahead.length >= FETCHES_AT_ONCE) yield (await ahead.shift()) ?? null;
  }
  for (const fetching of ahead) yield await fetching;
}

async function fetchHistory(client: Client, run: OpenRun): Promise<RunHistory | null> {
  const handle = client.workflow.getHandle(run.workflowId, run.runId);
  try {
    return { ...run, history: await inTime(client, () => handle.fetchHistory()) };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Whether a run is still open, by asking for the run itself. */
export async function isOpen(client: Client, { workflowId, runId }: OpenRun): Promise<boolean> {
  try {
    const { status } = await inTime(client, () => client.workflow.getHandle(workflowId, runId).describe());
    return status.name === 'RUNNING' || status.name === 'PAUSED';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

function inTime<Result>(client: Client, call: () => Promise<Result>): Promise<Result> {
  return client.withDeadline(Date.now() + CALL_DEADLINE_MS, call);
}

import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { isWorkflowNotFound } from './temporal-failure.js';

/** How long one call may take, in milliseconds; also a call that does not hear of its abort ends then. */
const CALL_MS = 4_000;

/** Temporal's default limit for one payload, `limit.blobSize.error`. */
const MAX_PAYLOAD_BYTES = 2 * 1024 * 1024;

/** The newest run of a workflow ID. */
export interface WorkflowRun {
  readonly runId: string;
  /** The run that its chain of continue-as-new, retries or resets began with. */
  readonly firstRunId: string;
  readonly workflowType: string;
  readonly isOpen: boolean;
  /** When this run began, by Temporal's clock, in Unix milliseconds. */
  readonly startedMs: number;
}

/** Payloads, or that there can be none. */
export type EncodedArgs =
  { readonly kind: 'encoded'; readonly payloads: Payload[] } | { readonly kind: 'refused'; readonly code: string };

/**
 * Makes calls within their time. An abort alone is not enough: the client does not hear it while it waits between its
 * own attempts.
 */
export function inTime<Result>(client: Client, signal: AbortSignal, call: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  return client.withDeadline(Date.now() + CALL_MS, () => client.withAbortSignal(signal, call));
}

/**
 * Reads a workflow as its history service has it, which is not behind. One run by `runId`, else the newest.
 * @returns `undefined` when there is none, or none any more.
 * @throws the client's error when Temporal does not answer.
 */
export async function describeWorkflow(
  client: Client,
  workflowId: string,
  signal: AbortSignal,
  runId?: string,
): Promise<WorkflowRun | undefined> {
  try {
    const { workflowExecutionInfo: info } = await inTime(client, signal, () =>
      client.workflowService.describeWorkflowExecution({
        namespace: client.options.namespace,
        execution: { workflowId, ...(runId === undefined ? {} : { runId }) },
      }),
    );
    const newest = info?.execution?.runId ?? '';
    // Servers before 1.25 do not say it.
    const firstRunId = info?.firstRunId ?? '';
    return {
      runId: newest,
      firstRunId: firstRunId === '' ? newest : firstRunId,
      workflowType: info?.type?.name ?? '',
      isOpen: info?.closeTime === null || info?.closeTime === undefined,
      startedMs: Number(info?.startTime?.seconds ?? 0) * 1_000,
    };
  } catch (error) {
    if (isWorkflowNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * Whether a workflow that was there at this time may be forgotten by now.
 * @throws the client's error when Temporal does not answer.
 */
export async function isPastRetention(client: Client, since: Date, signal: AbortSignal): Promise<boolean> {
  const { config } = await inTime(client, signal, () =>
    client.workflowService.describeNamespace({ namespace: client.options.namespace }),
  );
  const retentionMs = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1_000;
  return Date.now() - since.getTime() >= retentionMs;
}

/** Encodes arguments as the client does for this workflow, codec included, and judges their size before anything is sent. */
export async function encodeArgs(client: Client, workflowId: string, args: readonly unknown[]): Promise<EncodedArgs> {
  const { loadedDataConverter, namespace } = client.options;
  const { payloadConverter, payloadCodecs } = loadedDataConverter;
  const context = { type: 'workflow', namespace, workflowId } as const;
  try {
    let payloads = args.map((arg) => payloadConverter.toPayload(arg, context));
    for (const codec of payloadCodecs) payloads = await codec.encode(payloads, context);
    const bytes = payloads.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
    return bytes > MAX_PAYLOAD_BYTES ? { kind: 'refused', code: 'too_large' } : { kind: 'encoded', payloads };
  } catch {
    return { kind: 'refused', code: 'not_encodable' };
  }
}

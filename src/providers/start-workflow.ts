import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import { z } from 'zod';
import {
  defineOperation,
  type AnyOperationDefinition,
  type OperationAnswer,
  type ReconcileAnswer,
  type StartWorkflowParams,
} from '../api/index.js';
import { START_WORKFLOW } from '../api/workflow-operations.js';
import { describeWorkflow, encodeArgs, inTime, isPastRetention, type WorkflowRun } from './temporal-calls.js';
import { GIVE_UP_MS } from './give-up.js';
import { answerOfFailure, lookOfFailure } from './temporal-failure.js';
import { defaultArgs, keyTrustMs, workflowToStartShape, workflowId } from './workflow-params.js';

export interface WorkflowOperationOptions {
  /** Lower snake case; by default the name of the built-in kind, whose place it takes. */
  readonly kind?: string;
  /**
   * Its namespace is the one of the workflows. Calls are made with it as it is, data converter included; whoever made it
   * closes it, after the worker.
   */
  readonly client: Client;
  /** How long attempts are repeated, in milliseconds since the first; 3 days by default. */
  readonly giveUpAfterMs?: number;
}

/** What a handler gives for an operation of kind `start_workflow`, or of one's own made with it. */
export const startParams = z.strictObject({ ...workflowToStartShape, workflowId });

/**
 * A kind of operations that starts a user's workflow, once for its ID. Temporal refuses a second start of an ID while it
 * remembers the first (`REJECT_DUPLICATE`); after that the operation's row does. An ID that is taken by a workflow of the
 * same type counts as started, whoever did it. Plan it with `startWorkflow(params, event, { kind })`.
 * @throws TypeError when the kind's name is malformed.
 */
export function startWorkflowOperation(options: WorkflowOperationOptions): AnyOperationDefinition {
  const { kind = START_WORKFLOW, client, giveUpAfterMs = GIVE_UP_MS } = options;
  return defineOperation<StartWorkflowParams>({
    kind,
    params: startParams,
    perform: async ({ params, event, signal }) => {
      const args = params.args ?? defaultArgs(event);
      const encoded = await encodeArgs(client, params.workflowId, args);
      if (encoded.kind === 'refused') return encoded;
      try {
        const handle = await inTime(client, signal, () =>
          client.workflow.start(params.workflowType, {
            workflowId: params.workflowId,
            taskQueue: params.taskQueue,
            args: [...args],
            workflowIdReusePolicy: 'REJECT_DUPLICATE',
            workflowIdConflictPolicy: 'FAIL',
            ...(params.workflowExecutionTimeoutMs === undefined
              ? {}
              : { workflowExecutionTimeout: params.workflowExecutionTimeoutMs }),
          }),
        );
        return { kind: 'confirmed', reference: handle.firstExecutionRunId };
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        const holder = await judgeHolder(client, params, signal);
        // Gone between two calls, so that the next attempt may start it.
        if (holder === undefined) return { kind: 'notSent', code: 'workflow_id_busy' };
        return holder.kind === 'found' ? { ...holder, kind: 'confirmed' } : holder;
      }
    },
    classify: answerOfFailure,
    reconcile: async ({ params, firstSentAt, inDoubt, signal }): Promise<ReconcileAnswer> => {
      // The start itself tells: Temporal knows whether the ID is taken.
      if (!inDoubt || firstSentAt === null) return { kind: 'absent' };
      try {
        const holder = await judgeHolder(client, params, signal);
        if (holder !== undefined) return holder;
        // What was started then may have ended and be forgotten: a second start would be taken for the first.
        const isOver = await isPastRetention(client, firstSentAt, signal);
        return isOver ? { kind: 'park', code: 'past_retention' } : { kind: 'absent' };
      } catch (error) {
        return lookOfFailure(error);
      }
    },
    onUnknown: 'reconcile',
    keyTtlMs: keyTrustMs(giveUpAfterMs),
    giveUpAfterMs,
  });
}

type Holder =
  | { readonly kind: 'found'; readonly reference: string }
  | Extract<OperationAnswer & ReconcileAnswer, { readonly kind: 'refused' }>;

/** Whose the workflow ID is: a workflow may have continued as another type, so its first run tells too. */
async function judgeHolder(
  client: Client,
  { workflowId: id, workflowType }: StartWorkflowParams,
  signal: AbortSignal,
): Promise<Holder | undefined> {
  const newest = await describeWorkflow(client, id, signal);
  if (newest === undefined) return undefined;
  const started = newest.workflowType === workflowType || (await isOfType(client, id, newest, workflowType, signal));
  return started ? { kind: 'found', reference: newest.firstRunId } : { kind: 'refused', code: 'workflow_id_taken' };
}

async function isOfType(
  client: Client,
  id: string,
  { runId, firstRunId }: WorkflowRun,
  workflowType: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (firstRunId === runId) return false;
  const first = await describeWorkflow(client, id, signal, firstRunId);
  return first?.workflowType === workflowType;
}

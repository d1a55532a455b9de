import { createHash } from 'node:crypto';
import { defaultPayloadConverter, type Client } from '@temporalio/client';
import { encodeWorkflowIdConflictPolicy, encodeWorkflowIdReusePolicy, type Payload } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import { z } from 'zod';
import {
  defineOperation,
  type AnyOperationDefinition,
  type OperationAnswer,
  type OperationAttempt,
  type ReconcileAnswer,
  type SignalWorkflowParams,
} from '../api/index.js';
import { SIGNAL_WORKFLOW } from '../api/workflow-operations.js';
import { WEBHOOK_SIGNAL } from '../domain/webhook-signal.js';
import { describeWorkflow, encodeArgs, inTime, isPastRetention } from './temporal-calls.js';
import { GIVE_UP_MS } from './give-up.js';
import { answerOfFailure, isAlreadyStarted, isWorkflowNotFound, lookOfFailure } from './temporal-failure.js';
import { findInChain, findInEarlierRuns, OPERATION_HEADER } from './temporal-history.js';
import type { WorkflowOperationOptions } from './start-workflow.js';
import { defaultArgs, keyTrustMs, signalName, workflowId, workflowToStartShape } from './workflow-params.js';

/** What a handler gives for an operation of kind `signal_workflow`, or of one's own made with it. */
export const signalParams = z.strictObject({
  workflowId,
  key: z.string().min(1).max(500),
  payload: z.json().exactOptional(),
  signal: signalName.exactOptional(),
  start: z.strictObject(workflowToStartShape).exactOptional(),
});

/**
 * A kind of operations that signals a user's workflow, once for a business key. The request's ID is derived from the
 * operation's key, so Temporal drops a repetition within a run; what may have gone to an earlier run is looked for in the
 * histories before it is sent again; and the business key travels in the signal, for the receiver. Plan it with
 * `signalWorkflow(params, event, { kind })`.
 * @throws TypeError when the kind's name is malformed.
 */
export function signalWorkflowOperation(options: WorkflowOperationOptions): AnyOperationDefinition {
  const { kind = SIGNAL_WORKFLOW, client, giveUpAfterMs = GIVE_UP_MS } = options;
  return defineOperation<SignalWorkflowParams>({
    kind,
    params: signalParams,
    perform: async (attempt) => {
      const { workflowId: id } = attempt.params;
      const input = await encodeArgs(client, id, [webhookOf(attempt)]);
      if (input.kind === 'refused') return input;
      const startInput = await encodeArgs(client, id, attempt.params.start?.args ?? defaultArgs(attempt.event));
      if (startInput.kind === 'refused') return startInput;
      try {
        return await send(client, attempt, input.payloads, startInput.payloads);
      } catch (error) {
        if (!isWorkflowNotFound(error) && !isAlreadyStarted(error)) throw error;
        return await afterNoOpenWorkflow(client, attempt, giveUpAfterMs);
      }
    },
    classify: answerOfFailure,
    reconcile: async ({ params, firstSentAt, inDoubt, signal, idempotencyKey: mark }): Promise<ReconcileAnswer> => {
      // The send itself tells: Temporal knows whether there is a workflow, and drops a repetition within a run.
      if (!inDoubt || firstSentAt === null) return { kind: 'absent' };
      try {
        const newest = await describeWorkflow(client, params.workflowId, signal);
        if (newest === undefined) {
          // One that took the signal may have ended and be forgotten: it must not be started again.
          const isOver = params.start !== undefined && (await isPastRetention(client, firstSentAt, signal));
          return isOver ? { kind: 'park', code: 'past_retention' } : { kind: 'absent' };
        }
        const search = { workflowId: params.workflowId, newest, mark, firstSentAt, signal };
        switch (await findInEarlierRuns(client, search)) {
          case 'found':
            return { kind: 'found' };
          case 'absent':
            return { kind: 'absent' };
          case 'unclear':
            return { kind: 'park', code: 'history_unclear' };
        }
      } catch (error) {
        return lookOfFailure(error);
      }
    },
    onUnknown: 'reconcile',
    keyTtlMs: keyTrustMs(giveUpAfterMs),
    giveUpAfterMs,
  });
}

type SignalAttempt = OperationAttempt<SignalWorkflowParams>;

function webhookOf({ params, event }: SignalAttempt): { readonly key: string; readonly payload: unknown } {
  const [eventKey = null] = defaultArgs(event);
  return { key: params.key, payload: params.payload === undefined ? eventKey : params.payload };
}

async function send(
  client: Client,
  { params, idempotencyKey, signal }: SignalAttempt,
  payloads: Payload[],
  startPayloads: Payload[],
): Promise<OperationAnswer> {
  const { namespace, identity } = client.options;
  const request = {
    namespace,
    identity,
    requestId: requestIdOf(idempotencyKey),
    signalName: params.signal ?? WEBHOOK_SIGNAL,
    header: { fields: { [OPERATION_HEADER]: defaultPayloadConverter.toPayload(idempotencyKey) } },
  };
  const { start, workflowId: id } = params;
  if (start === undefined) {
    await inTime(client, signal, () =>
      client.workflowService.signalWorkflowExecution({
        ...request,
        workflowExecution: { workflowId: id },
        input: { payloads },
      }),
    );
    return { kind: 'confirmed' };
  }
  const { runId } = await inTime(client, signal, () =>
    client.workflowService.signalWithStartWorkflowExecution({
      ...request,
      workflowId: id,
      workflowType: { name: start.workflowType },
      taskQueue: { name: start.taskQueue },
      input: { payloads: startPayloads },
      signalInput: { payloads },
      workflowIdReusePolicy: encodeWorkflowIdReusePolicy('REJECT_DUPLICATE') ?? null,
      workflowIdConflictPolicy: encodeWorkflowIdConflictPolicy('USE_EXISTING') ?? null,
      ...(start.workflowExecutionTimeoutMs === undefined
        ? {}
        : { workflowExecutionTimeout: msToTs(start.workflowExecutionTimeoutMs) }),
    }),
  );
  return { kind: 'confirmed', reference: runId };
}

/** Temporal had no open workflow for it: there is none yet, or none any more, perhaps ended by this very signal. */
async function afterNoOpenWorkflow(
  client: Client,
  { params, idempotencyKey: mark, firstSentAt, signal }: SignalAttempt,
  giveUpAfterMs: number,
): Promise<OperationAnswer> {
  const newest = await describeWorkflow(client, params.workflowId, signal);
  if (newest === undefined) {
    const isOver = Date.now() - firstSentAt.getTime() >= giveUpAfterMs;
    return { kind: isOver ? 'park' : 'notSent', code: 'workflow_not_found' };
  }
  // Started between two calls; of the calls that the client made, one may have reached the workflow before it.
  if (newest.isOpen) return { kind: 'unknown', code: 'workflow_not_found' };
  const search = { workflowId: params.workflowId, newest, mark, firstSentAt, signal };
  const seen = await findInChain(client, search);
  if (seen === 'found') return { kind: 'confirmed' };
  return seen === 'absent' ? { kind: 'refused', code: 'workflow_closed' } : { kind: 'park', code: 'history_unclear' };
}

/** A UUID, since Temporal on Cassandra keeps the IDs of a run's signals as such. */
function requestIdOf(idempotencyKey: string): string {
  const hex = createHash('sha256').update(idempotencyKey).digest('hex');
  // Version 8: made by an application's own rule (RFC 9562, section 5.8).
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

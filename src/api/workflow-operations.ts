import { operationKey } from '../domain/operation.js';
import type { PlannedOperation } from '../domain/outcome.js';
import type { WebhookEvent } from './handlers.js';

/** Kinds of the built-in operations on workflows of one's own. */
export const START_WORKFLOW = 'start_workflow';
export const SIGNAL_WORKFLOW = 'signal_workflow';

/** How a workflow of one's own is started. All of it is frozen with the operation. */
export interface WorkflowToStart {
  readonly workflowType: string;
  /** There is no default: oncehook's own task queue has no such workflow. */
  readonly taskQueue: string;
  /** JSON. By default one argument, the event's `{ scope, eventId }`, so that Temporal sees keys only. */
  readonly args?: readonly unknown[];
  /** The longest that the workflow may take, all its runs together, in milliseconds; unbounded by default. */
  readonly workflowExecutionTimeoutMs?: number;
}

export interface StartWorkflowParams extends WorkflowToStart {
  readonly workflowId: string;
}

export interface SignalWorkflowParams {
  readonly workflowId: string;
  /** What the workflow waits for, such as `payment:o_1`. It gets one signal for a key, whatever events call for it. */
  readonly key: string;
  /** JSON. By default `{ scope, eventId }` of the event that called for it first. */
  readonly payload?: unknown;
  /** The signal's name; `webhook` by default, which is what `awaitWebhook` listens for. */
  readonly signal?: string;
  /** Starts the workflow with the signal if there has been none of this ID; without it the signal waits for one. */
  readonly start?: WorkflowToStart;
}

/** The event that calls for the operation; of it only the tenant goes into the operation's name. */
type CallingEvent = Pick<WebhookEvent, 'tenant'>;

export interface WorkflowOperationName {
  /**
   * A kind of one's own, made with `startWorkflowOperation` or `signalWorkflowOperation`, for workflows of another
   * namespace; by default the built-in one. It is part of the operation's name.
   */
  readonly kind?: string;
}

/**
 * Starts a workflow once for its ID: whatever events call for it, and also when it has ended long ago.
 * Two events that name different parameters for one workflow ID contradict each other (`operation_conflict`).
 */
export function startWorkflow(
  params: StartWorkflowParams,
  { tenant }: CallingEvent,
  { kind = START_WORKFLOW }: WorkflowOperationName = {},
): PlannedOperation {
  const { workflowType, workflowId, taskQueue, args, workflowExecutionTimeoutMs } = params;
  return {
    kind,
    key: operationKey(nameOfKind(kind), tenant, workflowId),
    params: { workflowType, workflowId, taskQueue, args, workflowExecutionTimeoutMs },
  };
}

/**
 * Signals a workflow once for a business key: whatever events call for it, and whichever comes first, the event or the
 * workflow. Two events that name different parameters under one key contradict each other (`operation_conflict`).
 */
export function signalWorkflow(
  params: SignalWorkflowParams,
  { tenant }: CallingEvent,
  { kind = SIGNAL_WORKFLOW }: WorkflowOperationName = {},
): PlannedOperation {
  const { workflowId, key, payload, signal, start } = params;
  return {
    kind,
    key: operationKey(nameOfKind(kind), tenant, workflowId, key),
    params: { workflowId, key, payload, signal, start },
  };
}

/** As operations are named: `signal-workflow:...`, for the kind `signal_workflow`. */
function nameOfKind(kind: string): string {
  return kind.replaceAll('_', '-');
}

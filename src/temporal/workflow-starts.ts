import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { fairnessKeyForScope, workflowIdForEvent, type ProcessWebhookEventInput } from '../domain/event.js';
import { workflowIdForOperation } from '../domain/operation.js';
import { fitsSearchAttribute } from '../domain/search-attributes.js';
import { sha256Hex } from '../sha256.js';
import { grpcFailureOf, INVALID_ARGUMENT } from './grpc-failure.js';
import { WEBHOOK_EVENT_TYPE, WEBHOOK_SCOPE } from './search-attribute-keys.js';

/** Starts and signals of oncehook's workflows, with the one start policy. */
export interface WorkflowStarts {
  /** Starts an event's workflow; one that runs is left alone. */
  readonly startEvent: (event: ProcessWebhookEventInput) => Promise<void>;
  /** Sends `replay` or `discard`; a closed or forgotten workflow is started by it. */
  readonly signalEvent: (
    event: ProcessWebhookEventInput,
    signal: 'replay' | 'discard',
    input: unknown,
  ) => Promise<void>;
  readonly startOperation: (operationKey: string) => Promise<void>;
  /** Starts an operation's own workflow, or ends the wait of one that runs. `input` says who asked, for the history. */
  readonly wakeOperation: (operationKey: string, input: unknown) => Promise<void>;
}

export interface WorkflowStartOptionsOfOurs {
  readonly client: Client;
  readonly taskQueue: string;
  /** How long one call may take, in milliseconds. */
  readonly deadlineMs: number;
}

/**
 * All starts use ALLOW_DUPLICATE with USE_EXISTING: what makes an event unique is its inbox row, which each run's
 * first activity locks. REJECT_DUPLICATE would leave the pending row of a terminated run for ever.
 */
const START_POLICY = {
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  workflowIdConflictPolicy: 'USE_EXISTING',
} as const;

export function createWorkflowStarts({ client, taskQueue, deadlineMs }: WorkflowStartOptionsOfOurs): WorkflowStarts {
  const inTime = <Result>(call: () => Promise<Result>): Promise<Result> =>
    client.withDeadline(Date.now() + deadlineMs, call);

  /** A cluster without our search attributes refuses the start that carries them; it goes without. */
  const withOrWithoutAttributes = async (
    event: ProcessWebhookEventInput,
    call: (options: EventStartOptions) => Promise<unknown>,
  ): Promise<void> => {
    const options = eventStartOptions(event, taskQueue);
    try {
      await inTime(() => call(options));
    } catch (error) {
      if (!isInvalidArgument(error)) throw error;
      await inTime(() => call({ ...options, typedSearchAttributes: [] }));
    }
  };

  return {
    startEvent: (event) =>
      withOrWithoutAttributes(event, (options) =>
        client.workflow.start('processWebhookEvent', { ...options, ...START_POLICY }),
      ),
    signalEvent: (event, signal, input) =>
      withOrWithoutAttributes(event, (options) =>
        client.workflow.signalWithStart('processWebhookEvent', {
          ...options,
          ...START_POLICY,
          signal,
          signalArgs: [input],
        }),
      ),
    startOperation: async (operationKey) => {
      await inTime(() => client.workflow.start('processOperation', operationStartOptions(operationKey, taskQueue)));
    },
    wakeOperation: async (operationKey, input) => {
      const options = operationStartOptions(operationKey, taskQueue);
      await inTime(() =>
        client.workflow.signalWithStart('processOperation', { ...options, signal: 'replay', signalArgs: [input] }),
      );
    },
  };
}

/** The UI shows one line; the server refuses more than 400 bytes. */
const MAX_SUMMARY_LENGTH = 200;

function operationStartOptions(
  operationKey: string,
  taskQueue: string,
): WorkflowStartOptions & { readonly args: [{ readonly operationKey: string }] } {
  return {
    taskQueue,
    workflowId: workflowIdForOperation(operationKey, sha256Hex),
    args: [{ operationKey }],
    staticSummary: operationKey.slice(0, MAX_SUMMARY_LENGTH),
    ...START_POLICY,
  };
}

type EventStartOptions = Pick<
  WorkflowStartOptions,
  'taskQueue' | 'workflowId' | 'staticSummary' | 'priority' | 'typedSearchAttributes'
> & { readonly args: [ProcessWebhookEventInput] };

function eventStartOptions(event: ProcessWebhookEventInput, taskQueue: string): EventStartOptions {
  const { scope, eventId, eventType } = event;
  const attributes = [
    { key: WEBHOOK_SCOPE, value: scope },
    { key: WEBHOOK_EVENT_TYPE, value: eventType },
  ].filter(({ value }) => fitsSearchAttribute(value));
  return {
    taskQueue,
    workflowId: workflowIdForEvent(event, sha256Hex),
    args: [{ scope, eventId, eventType }],
    staticSummary: `${eventType} ${eventId}`.slice(0, MAX_SUMMARY_LENGTH),
    priority: { fairnessKey: fairnessKeyForScope(scope, sha256Hex) },
    typedSearchAttributes: attributes,
  };
}

/** Whether Temporal is not there (down, overloaded, namespace missing), rather than refused just this start. */
export function isUnanswered(error: unknown): boolean {
  return !isInvalidArgument(error);
}

/** Among others, because of a search attribute that the namespace does not know. */
function isInvalidArgument(error: unknown): boolean {
  return grpcFailureOf(error)?.code === INVALID_ARGUMENT;
}

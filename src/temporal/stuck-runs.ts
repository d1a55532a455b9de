import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { workflowIdForEvent, type EventKey } from '../domain/event.js';
import { sha256Hex } from '../sha256.js';

/**
 * How often the workflow task of an event's open run has failed in a row: broken workflow code is retried by Temporal
 * for ever, and the run shows as Running all the while.
 * @returns 0 when no task is pending or there is no such run.
 */
export async function failedTaskAttempts(client: Client, event: EventKey): Promise<number> {
  try {
    const description = await client.workflow.getHandle(workflowIdForEvent(event, sha256Hex)).describe();
    return description.status.name === 'RUNNING' ? (description.raw.pendingWorkflowTask?.attempt ?? 0) : 0;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 0;
    throw error;
  }
}

/** Ends an event's open run; one that is gone already is fine. */
export async function terminateRun(client: Client, event: EventKey, reason: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowIdForEvent(event, sha256Hex)).terminate(reason);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

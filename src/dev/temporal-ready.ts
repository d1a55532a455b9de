import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';

const CALL_WITHIN_MS = 5000;

/**
 * Whether the server can do what we need at once: its namespace exists with our search attributes, and its history and matching
 * services have found each other. A health check alone says yes seconds before that.
 */
export async function isTemporalReady(address: string, namespace: string): Promise<boolean> {
  // No retries: the caller asks again.
  const connection = Connection.lazy({ address, interceptors: [] });
  try {
    return await connection.withDeadline(Date.now() + CALL_WITHIN_MS, async () => {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      if (!Object.values(SEARCH_ATTRIBUTES).every((name) => name in customAttributes)) return false;
      await connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name: 'oncehook-ready' } });
      return await historyAnswers(connection, namespace);
    });
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

async function historyAnswers(connection: Connection, namespace: string): Promise<boolean> {
  const execution = { workflowId: 'oncehook-ready' };
  try {
    await connection.workflowService.describeWorkflowExecution({ namespace, execution });
    return true;
  } catch (error) {
    const NOT_FOUND = 5;
    return error instanceof Error && 'code' in error && error.code === NOT_FOUND;
  }
}

import type { Client } from '@temporalio/client';

const DEADLINE_MS = 1_000;

/** Asks whether Temporal answers; told by /readyz, and never counted there. */
export function createTemporalProbe(client: Client): () => Promise<'ok' | 'down'> {
  return async () => {
    try {
      await client.withDeadline(Date.now() + DEADLINE_MS, () => client.workflowService.getSystemInfo({}));
      return 'ok';
    } catch {
      return 'down';
    }
  };
}

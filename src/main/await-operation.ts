import { readOperationDetails, type OperationDetails } from '../admin/find-operations.js';
import { isSettledForRun } from '../domain/operation.js';
import type { Tool } from './open-tool.js';

const POLL_MS = 200;

/** Waits until nothing more happens to an operation by itself; null when the time is up first. */
export async function awaitOperation(
  { pool }: Pick<Tool, 'pool'>,
  key: string,
  timeoutMs: number,
): Promise<OperationDetails | null> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const details = await readOperationDetails(pool, key);
    if (details !== undefined && isSettledForRun(details.status)) return details;
    if (performance.now() >= end) return null;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

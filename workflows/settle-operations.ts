import { condition } from '@temporalio/workflow';
import { isSettledForRun, type OperationStatus } from '../src/domain/operation.js';
import type { OperationSummary, PerformOperationResult } from '../src/domain/outcome.js';
import { performOperation } from './activity-proxies.js';
import { describeTrouble } from './activity-trouble.js';

export interface SettleOptions {
  /** How many signals have arrived; one more cuts a wait between attempts short. */
  readonly arrived: () => number;
  /** Told of every operation's standing, for the query. */
  readonly report: (operations: readonly OperationSummary[]) => void;
}

/** Brings every operation to a standing that a run has nothing more to do about, each at its own pace. */
export async function settleOperations(
  operations: readonly OperationSummary[],
  { arrived, report }: SettleOptions,
): Promise<void> {
  const standing = new Map<string, OperationStatus>(operations.map(({ key, status }) => [key, status]));
  const record = (key: string, status: OperationStatus): void => {
    standing.set(key, status);
    report([...standing].map(([name, now]) => ({ key: name, status: now })));
  };
  report(operations);
  const open = operations.filter(({ status }) => !isSettledForRun(status));
  await Promise.all(open.map(({ key }) => settle(key, record, arrived)));
}

async function settle(
  key: string,
  record: (key: string, status: OperationStatus) => void,
  arrived: () => number,
): Promise<void> {
  for (;;) {
    const result = await attempt(key);
    if (result.kind === 'missing') return;
    record(key, result.status);
    if (result.kind === 'settled') return;
    const seen = arrived();
    await condition(() => arrived() > seen, result.delayMs, { summary: `${key}: next attempt` });
  }
}

/** A call that its infrastructure or its own code failed is made again: nobody else would finish the operation. */
async function attempt(operationKey: string): Promise<PerformOperationResult> {
  try {
    return await performOperation.executeWithOptions({ summary: operationKey }, [{ operationKey }]);
  } catch (error) {
    const trouble = describeTrouble(error);
    const delayMs = trouble.kind === 'defect' ? Math.max(trouble.delayMs, DEFECT_PAUSE_MS) : 0;
    return { kind: 'again', status: 'unknown', delayMs };
  }
}

/** The ledger parks what it cannot do, so a defect here is a bug in a release; the run waits for the next one. */
const DEFECT_PAUSE_MS = 60_000;

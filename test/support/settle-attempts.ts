import type { CheckpointHook, CheckpointName } from '../../src/checkpoints.js';
import type { PerformOperationResult } from '../../src/domain/outcome.js';
import { CheckpointError } from '../../src/errors.js';
import type { OperationsBench } from './operations-bench.js';

/** One more attempt of an operation. */
export type Attempt = () => Promise<PerformOperationResult>;

/** Past the time that an attempt may be alive, by the bench's limits. */
export const DEAD_MS = 60_000;

/** Attempts until the operation is settled, without its delays; what may be alive is aged until it cannot be. */
export async function attemptUntilSettled(bench: OperationsBench, key: string, attempt: Attempt): Promise<string> {
  for (let round = 0; round < 30; round += 1) {
    const result = await attempt().catch((error: unknown) => {
      if (error instanceof CheckpointError) return { kind: 'died' } as const;
      throw error;
    });
    if (result.kind === 'settled') return result.status;
    if (result.kind === 'missing') throw new Error('the operation is gone');
    if ((await bench.read(key)).status === 'sending') await bench.age(key, DEAD_MS);
  }
  throw new Error('not settled in 30 attempts');
}

/** A process that dies at its first arrival at a point, as far as the attempt can tell. */
export function deathAt(point: CheckpointName): CheckpointHook {
  let died = false;
  return (name) => {
    if (died || name !== point) return Promise.resolve();
    died = true;
    return Promise.reject(new CheckpointError(name));
  };
}

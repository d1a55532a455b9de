import type { OperatorName } from '../admin/act-on-operations.js';
import type { Tool } from './open-tool.js';

/**
 * Starts the run of an operation at once; without Temporal the sweeper does so when it is back.
 * @returns whether it was started.
 */
export async function wakeOperation(tool: Tool, operationKey: string, operator: OperatorName): Promise<boolean> {
  try {
    await tool.wakeOperation(operationKey, operator);
    return true;
  } catch {
    process.stderr.write(
      `oncehook: Temporal does not answer; the sweeper starts ${operationKey} when it does, nothing is lost\n`,
    );
    return false;
  }
}

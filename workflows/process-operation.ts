import { setHandler } from '@temporalio/workflow';
import type { ProcessOperationInput } from '../src/domain/operation.js';
import type { OperationSummary } from '../src/domain/outcome.js';
import { operationStatusQuery } from './messages.js';
import { collectOperatorRequests } from './operator-requests.js';
import { settleOperations } from './settle-operations.js';

/** Carries an operation that no event asked for (an application's refund request) to its end. */
export async function processOperation({ operationKey }: ProcessOperationInput): Promise<readonly OperationSummary[]> {
  const requests = collectOperatorRequests();
  let standing: readonly OperationSummary[] = [{ key: operationKey, status: 'planned' }];
  setHandler(operationStatusQuery, () => standing, { description: 'Where this operation stands' });
  let seen: number;
  // An approval may arrive while an attempt is just finding that it is needed: no signal is left behind unseen.
  do {
    seen = requests.arrived();
    await settleOperations([{ key: operationKey, status: 'planned' }], {
      arrived: requests.arrived,
      report: (operations) => {
        standing = operations;
      },
    });
  } while (requests.arrived() > seen);
  return standing;
}

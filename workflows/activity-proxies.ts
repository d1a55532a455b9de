import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.js';

/** A worker that died is noticed when this runs out; above what the handlers, their fetch and their locks may take. */
const ATTEMPT_LIMIT = '15 seconds';

/**
 * Ten attempts a call, so that a worker that dies or hangs in it every time comes back to the workflow to be counted;
 * failures of the infrastructure come back too and are simply called again.
 */
export const { applyEvent } = proxyActivities<Pick<Activities, 'applyEvent'>>({
  startToCloseTimeout: ATTEMPT_LIMIT,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 10 },
});

/** Retried without bound: they only write to our own database. */
export const { quarantineEvent, discardEvent } = proxyActivities<Pick<Activities, 'quarantineEvent' | 'discardEvent'>>({
  startToCloseTimeout: ATTEMPT_LIMIT,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One attempt of an external effect; its own deadline is shorter. What to do after it is in its result. */
export const { performOperation } = proxyActivities<Pick<Activities, 'performOperation'>>({
  startToCloseTimeout: ATTEMPT_LIMIT,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

import { condition, setHandler } from '@temporalio/workflow';
import type { ProcessWebhookEventInput } from '../src/domain/event.js';
import type { ApplyEventResult, OperatorRequest } from '../src/domain/outcome.js';
import { applyEvent, discardEvent, quarantineEvent } from './activity-proxies.js';
import { describeTrouble } from './activity-trouble.js';
import { createBoard } from './board.js';
import { statusQuery, type EventStatus } from './messages.js';
import { collectOperatorRequests, type OperatorRequests } from './operator-requests.js';
import { settleOperations } from './settle-operations.js';

/** The fifth defect takes the event out of the machine's hands. */
const MAX_DEFECTS = 5;

/**
 * Carries one accepted event to its end: done, or open under quarantine until an operator's signal. Takes and gives
 * keys and codes only. All that outlives a run is in the inbox row, so a run may be lost and started again.
 */
export async function processWebhookEvent(input: ProcessWebhookEventInput): Promise<EventStatus> {
  const { scope, eventId } = input;
  const requests = collectOperatorRequests();
  const board = createBoard(input);
  setHandler(statusQuery, board.status, { description: 'Where this event stands' });

  let replay: OperatorRequest | null = null;
  for (;;) {
    const result = await applyUntilAnswered(input, replay, requests);
    replay = null;
    board.show(result);

    switch (result.kind) {
      case 'done':
        await settleOperations(result.operations, { arrived: requests.arrived, report: board.showOperations });
        break;
      case 'wait':
        await untilRequest(requests, result.delayMs, `waits: ${result.reason}`);
        break;
      case 'quarantined':
        await untilRequest(requests);
        break;
      case 'missing':
        return board.status();
    }

    // No await between this look and the return: a signal that is stored is a signal that is seen.
    const request = requests.next();
    if (request === undefined && result.kind === 'done') return board.status();
    if (request?.action === 'replay') replay = request;
    if (request?.action === 'discard') await discardEvent({ scope, eventId, request });
  }
}

/** Applies the event until the row has an answer: infrastructure is waited out, defects are counted. */
async function applyUntilAnswered(
  { scope, eventId, eventType }: ProcessWebhookEventInput,
  replay: OperatorRequest | null,
  requests: OperatorRequests,
): Promise<ApplyEventResult> {
  for (let defects = 0; defects < MAX_DEFECTS;) {
    try {
      const summary = `apply ${eventType}`;
      return await applyEvent.executeWithOptions({ summary }, [{ scope, eventId, defects, replay }]);
    } catch (error) {
      const trouble = describeTrouble(error);
      if (trouble.kind === 'infrastructure') continue;
      defects += 1;
      if (defects < MAX_DEFECTS && trouble.delayMs > 0) await untilRequest(requests, trouble.delayMs, 'after a defect');
    }
  }
  return quarantineEvent({ scope, eventId, reason: 'handler_error', replay });
}

/** Waits for one more signal, or for the time to pass. */
async function untilRequest(requests: OperatorRequests, delayMs?: number, summary?: string): Promise<void> {
  if (delayMs === undefined) await condition(requests.pending);
  else await condition(requests.pending, delayMs, summary === undefined ? {} : { summary });
}

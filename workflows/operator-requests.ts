import { setHandler, workflowInfo } from '@temporalio/workflow';
import type { OperatorRequest } from '../src/domain/outcome.js';
import { discardSignal, replaySignal } from './messages.js';

export interface SignalledRequest extends OperatorRequest {
  readonly action: 'replay' | 'discard';
}

/** Operators' signals in the order of their arrival. */
export interface OperatorRequests {
  /** How many have arrived in this run; a change of it wakes what waits. */
  readonly arrived: () => number;
  /** Whether one waits to be taken. */
  readonly pending: () => boolean;
  readonly next: () => SignalledRequest | undefined;
}

/**
 * Listens for `replay` and `discard`. The handlers only record: one that threw would block the run for good, so they
 * take whatever arrives.
 */
export function collectOperatorRequests(): OperatorRequests {
  const queue: SignalledRequest[] = [];
  let arrived = 0;
  const record = (action: SignalledRequest['action'], input: unknown): void => {
    arrived += 1;
    const { workflowId, runId } = workflowInfo();
    queue.push({
      action,
      by: textIn(input, 'by'),
      reason: textIn(input, 'reason'),
      requestKey: `${workflowId}/${runId}/${arrived}`,
    });
  };
  setHandler(
    replaySignal,
    (input) => {
      record('replay', input);
    },
    {
      description: 'Run the event again with a fresh budget. Input: {"by": "you", "reason": "why"}',
    },
  );
  setHandler(
    discardSignal,
    (input) => {
      record('discard', input);
    },
    {
      description: 'End the event without applying it. Input, both needed: {"by": "you", "reason": "why"}',
    },
  );
  return { arrived: () => arrived, pending: () => queue.length > 0, next: () => queue.shift() };
}

const MAX_TEXT_LENGTH = 500;

function textIn(input: unknown, field: 'by' | 'reason'): string | null {
  if (typeof input !== 'object' || input === null) return null;
  const value = (input as Record<string, unknown>)[field];
  return typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, MAX_TEXT_LENGTH) : null;
}

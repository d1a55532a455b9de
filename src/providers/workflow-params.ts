import { z } from 'zod';
import type { EventKey } from '../api/index.js';

/** Temporal's limit is 1000 bytes; what has fewer letters and more bytes is refused by Temporal. */
const temporalName = z.string().min(1).max(1_000);

export const workflowId = temporalName;
export const signalName = temporalName;

export const workflowToStartShape = {
  workflowType: temporalName,
  taskQueue: temporalName,
  args: z.array(z.json()).exactOptional(),
  workflowExecutionTimeoutMs: z.int().positive().exactOptional(),
};

/** Five sixths of it are used for further sends after a lost answer, which is then as long as any attempt is repeated. */
export function keyTrustMs(giveUpAfterMs: number): number {
  return giveUpAfterMs * 1.2;
}

/** The event's key and nothing of its payload: what a history carries is the user's to decide. */
export function defaultArgs(event: EventKey | null): readonly unknown[] {
  return event === null ? [] : [{ scope: event.scope, eventId: event.eventId }];
}

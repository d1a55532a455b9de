import type { CheckpointHook } from '../checkpoints.js';
import type { ProcessWebhookEventInput } from '../domain/event.js';
import type { Logger } from '../observability/logger.js';
import type { Verdict } from './verdict.js';

export interface StartProcessingDeps {
  /** Begins the processing of an event that this request stored; must not throw, and nobody waits for it. */
  readonly dispatch: (event: ProcessWebhookEventInput) => void;
  readonly checkpoints: CheckpointHook;
  readonly log: Logger;
}

/**
 * Hands on what a delivery has stored, once `answered` says that its answer has left: a start of any length holds
 * nobody up, and one that is lost here is the sweeper's.
 */
export async function startProcessing(
  { dispatch, checkpoints, log }: StartProcessingDeps,
  verdict: Verdict,
  answered: () => Promise<void>,
): Promise<void> {
  if (verdict.kind !== 'stored' || verdict.result !== 'accepted') return;
  const { disposition, scope, eventId, eventType } = verdict.envelope;
  if (disposition.kind !== 'process') return;
  await answered();
  try {
    await checkpoints('receiver.after-answer');
    dispatch({ scope, eventId, eventType });
  } catch (error) {
    log.error({ err: error, scope, eventId }, 'dispatch not begun');
  }
}

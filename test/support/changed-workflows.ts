import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../../activities/index.js';
import type { ProcessWebhookEventInput } from '../../src/domain/event.js';

const { discardEvent, applyEvent } = proxyActivities<Activities>({ startToCloseTimeout: '15 seconds' });

/** Our workflow's name over another order of activities, as a careless change would make it; and no processOperation. */
export async function processWebhookEvent({ scope, eventId }: ProcessWebhookEventInput): Promise<void> {
  const request = { by: null, reason: null, requestKey: 'k' };
  await discardEvent({ scope, eventId, request });
  await applyEvent({ scope, eventId, defects: 0, replay: null });
}

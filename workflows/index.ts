export { awaitWebhook, receiveWebhooks, webhookSignal } from './await-webhook.js';
export type { CarriedWebhooks, ReceivedWebhook, Webhooks } from './await-webhook.js';
export { processOperation } from './process-operation.js';
export { processWebhookEvent } from './process-webhook-event.js';

export { processOperation } from './process-operation.js';
export { processWebhookEvent } from './process-webhook-event.js';

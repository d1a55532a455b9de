/** oncehook's public entry point. What is not exported here may change in any release. */
export {
  applied,
  asPool,
  defineHandlers,
  defineOperation,
  defineStripeHandlers,
  duplicate,
  fetchFirst,
  formatMinor,
  ignored,
  isMinorAmount,
  latestState,
  operationKey,
  quarantine,
  signalWorkflow,
  startWorkflow,
  superseded,
  typedHandlers,
  wait,
} from './api/index.js';
export type * from './api/index.js';
export type { ConfigDocument } from './config/index.js';
export { createWebhookReceiver, type WebhookReceiver } from './embed/webhook-receiver.js';
export {
  createWebhookActivities,
  createWebhookWorker,
  type WebhookActivities,
  type WebhookWorker,
  type WebhookWorkerOptions,
} from './embed/webhook-worker.js';
export type { WebhookOptions } from './embed/webhook-options.js';
export { ConfigError, DatabaseUnusableError, OncehookError } from './errors.js';

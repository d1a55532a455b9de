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
export { signalWorkflowOperation } from './providers/signal-workflow.js';
export { startWorkflowOperation, type WorkflowOperationOptions } from './providers/start-workflow.js';
export { ConfigError, DatabaseUnusableError, OncehookError } from './errors.js';
export {
  emailOperation,
  type EmailKind,
  type EmailOptions,
  type EmailParams,
  type EmailTemplates,
} from './providers/email.js';
export type { OrderPaid } from './providers/email-templates/order-paid.js';
export type { RefundMail } from './providers/email-templates/refund.js';
export { escapeHtml, type MailContent } from './providers/email-templates/template.js';
export {
  httpOperation,
  type HttpOperationOptions,
  type HttpParams,
  type HttpTarget,
} from './providers/http-operation.js';
export { mailOperation, type EmailPolicy, type MailOperationOptions } from './providers/mail-operation.js';
export {
  createSmtpTransport,
  type Mail,
  type MailResult,
  type MailTransport,
  type SmtpPhase,
} from './providers/smtp-transport.js';

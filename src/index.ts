/** oncehook's public entry point. What is not exported here may change in any release. */
export { defineHandlers } from './api/handlers.js';
export type { FetchedObject, Handler, HandlerSet, Transaction, WebhookEvent } from './api/handlers.js';
export { applied, duplicate, fetchFirst, ignored, quarantine, superseded, wait } from './api/outcomes.js';
export { defineOperation } from './api/operations.js';
export type {
  AnyOperationDefinition,
  OperationAnswer,
  OperationAttempt,
  OperationContext,
  OperationDefinition,
  OperationLook,
  ParamsSchema,
  PreparedMessage,
  ReconcileAnswer,
  UnknownPolicy,
} from './api/operations.js';
export type { FetchReference, HandlerOutcome, PlannedOperation } from './domain/outcome.js';
export { operationKey } from './domain/operation.js';
export { formatMinor, isMinorAmount } from './domain/money.js';

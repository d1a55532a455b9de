/** What handlers and operations are written against; the built-in sets and effects use nothing else. */
export { asPool, type PoolOfOne } from './as-pool.js';
export { defineHandlers } from './handlers.js';
export type { FetchedObject, Handler, HandlerSet, Transaction, WebhookEvent } from './handlers.js';
export { latestState } from './latest-state.js';
export type { LatestStateDefinition } from './latest-state.js';
export { applied, duplicate, fetchFirst, ignored, quarantine, superseded, wait } from './outcomes.js';
export {
  defineStripeHandlers,
  typedHandlers,
  type GithubEvents,
  type StripeEvents,
  type TypedEvent,
  type TypedHandler,
} from './typed-handlers.js';
export { defineOperation } from './operations.js';
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
} from './operations.js';
export type { FetchContext, FetchReference, HandlerOutcome, ObjectFetch, PlannedOperation } from '../domain/outcome.js';
export { signalWorkflow, startWorkflow } from './workflow-operations.js';
export type {
  SignalWorkflowParams,
  StartWorkflowParams,
  WorkflowOperationName,
  WorkflowToStart,
} from './workflow-operations.js';
export type { EventKey } from '../domain/event.js';
export { operationKey } from '../domain/operation.js';
export { formatMinor, isMinorAmount } from '../domain/money.js';

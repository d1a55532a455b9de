import { defineOperation, type AnyOperationDefinition, type ParamsSchema } from '../api/index.js';
import { SIGNAL_WORKFLOW, START_WORKFLOW } from '../api/workflow-operations.js';
import { emailOperation } from '../providers/email.js';
import { httpOperation } from '../providers/http-operation.js';
import { signalParams } from '../providers/signal-workflow.js';
import { startParams } from '../providers/start-workflow.js';
import { stripeCancelOperation } from '../providers/stripe-cancel.js';
import { stripeRefundOperation } from '../providers/stripe-refund.js';

/**
 * The built-in kinds with another side that is not there: parameters are checked as ever, every attempt is confirmed,
 * nothing goes out.
 */
function builtInKinds(): readonly AnyOperationDefinition[] {
  const nowhere = { send: () => Promise.reject(new Error('no mail is sent in a test')) };
  return [
    emailOperation({ transport: nowhere, from: 'shop@example.com' }),
    stripeRefundOperation(() => null),
    stripeCancelOperation(() => null),
    httpOperation({ targets: {} }),
    { kind: START_WORKFLOW, params: startParams },
    { kind: SIGNAL_WORKFLOW, params: signalParams },
  ].map(({ kind, params }) => standIn(kind, params));
}

function standIn(kind: string, params: ParamsSchema<unknown>): AnyOperationDefinition {
  return defineOperation({
    kind,
    params,
    perform: () => Promise.resolve({ kind: 'confirmed' }),
    classify: () => ({ kind: 'unknown', code: 'threw' }),
    keyTtlMs: 86_400_000,
    onUnknown: 'resend',
  });
}

/** A test's own kinds, and a stand-in for every built-in kind that is not among them. */
export function withStandIns(own: readonly AnyOperationDefinition[]): readonly AnyOperationDefinition[] {
  const kinds = new Set(own.map(({ kind }) => kind));
  return [...own, ...builtInKinds().filter(({ kind }) => !kinds.has(kind))];
}

import { NamespaceNotFoundError } from '@temporalio/common';
import type { OperationAnswer, ReconcileAnswer } from '../api/index.js';
import {
  ALREADY_EXISTS,
  causeOfFailure,
  DEADLINE_EXCEEDED,
  grpcFailureOf,
  INVALID_ARGUMENT,
  NOT_FOUND,
  PERMISSION_DENIED,
  RESOURCE_EXHAUSTED,
  UNAUTHENTICATED,
  UNAVAILABLE,
  UNIMPLEMENTED,
} from '../temporal/grpc-failure.js';

/** Where gRPC puts the protobuf that says more than the status code, and the name of the one that is looked for. */
const DETAILS = 'grpc-status-details-bin';
const NAMESPACE_NOT_FOUND = 'temporal.api.errordetails.v1.NamespaceNotFoundFailure';

/** Whether Temporal says that the namespace has no such workflow, or none that is open. */
export function isWorkflowNotFound(error: unknown): boolean {
  return grpcFailureOf(error)?.code === NOT_FOUND && !isNamespaceNotFound(error);
}

/** Whether the workflow ID is taken. */
export function isAlreadyStarted(error: unknown): boolean {
  return grpcFailureOf(error)?.code === ALREADY_EXISTS;
}

type FailureAnswer = Extract<OperationAnswer, { readonly kind: 'unknown' | 'refused' }>;

/**
 * What a failed start or signal means. The client may have made the call several times, and the failure is that of the
 * last: one before it may have been carried out without an answer, whatever this one says. So `unknown` it is, which is
 * looked at before the next send. Only what can never be sent is `refused`: the request does not change between calls.
 */
export function answerOfFailure(error: unknown): FailureAnswer {
  if (isNamespaceNotFound(error)) return { kind: 'unknown', code: 'namespace_not_found', configuration: true };
  switch (grpcFailureOf(error)?.code) {
    case INVALID_ARGUMENT:
      return { kind: 'refused', code: 'invalid_argument' };
    case PERMISSION_DENIED:
      return { kind: 'unknown', code: 'permission_denied', configuration: true };
    case UNAUTHENTICATED:
      return { kind: 'unknown', code: 'unauthenticated', configuration: true };
    case UNIMPLEMENTED:
      return { kind: 'unknown', code: 'unimplemented', configuration: true };
    case RESOURCE_EXHAUSTED:
      return { kind: 'unknown', code: 'temporal_busy' };
    case DEADLINE_EXCEEDED:
      return { kind: 'unknown', code: 'temporal_timeout' };
    case UNAVAILABLE:
      return { kind: 'unknown', code: 'temporal_unavailable' };
    default:
      return { kind: 'unknown', code: 'temporal_error' };
  }
}

/** What a failed look means: nothing, except that it has to be repeated. */
export function lookOfFailure(error: unknown): ReconcileAnswer {
  const answer = answerOfFailure(error);
  return answer.kind === 'unknown' ? answer : { kind: 'unknown', code: answer.code };
}

function isNamespaceNotFound(error: unknown): boolean {
  if (causeOfFailure(error) instanceof NamespaceNotFoundError) return true;
  // A type's name stands in the details as plain ASCII, so nothing has to be decoded to find it.
  const details = grpcFailureOf(error)?.metadata.get(DETAILS) ?? [];
  return details.some((detail) => detail.includes(NAMESPACE_NOT_FOUND));
}

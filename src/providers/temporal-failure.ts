import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import type { OperationAnswer, ReconcileAnswer } from '../api/index.js';

/** gRPC's status codes, as far as they are told apart here. Source: grpc.io, "Status codes and their use in gRPC". */
const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

/** Where gRPC puts the protobuf that says more than the status code, and the name of the one that is looked for. */
const DETAILS = 'grpc-status-details-bin';
const NAMESPACE_NOT_FOUND = 'temporal.api.errordetails.v1.NamespaceNotFoundFailure';

/** Whether Temporal says that the namespace has no such workflow, or none that is open. */
export function isWorkflowNotFound(error: unknown): boolean {
  return codeOf(error) === NOT_FOUND && !isNamespaceNotFound(error);
}

/** Whether the workflow ID is taken. */
export function isAlreadyStarted(error: unknown): boolean {
  return codeOf(error) === ALREADY_EXISTS;
}

/**
 * What a failed start or signal means. `notSent` and `refused` only where Temporal says so before it changes anything;
 * the client may have made the call several times, so what is left in doubt is looked at before the next send.
 */
export function answerOfFailure(error: unknown): OperationAnswer {
  if (isNamespaceNotFound(error)) return { kind: 'notSent', code: 'namespace_not_found', configuration: true };
  switch (codeOf(error)) {
    case INVALID_ARGUMENT:
      return { kind: 'refused', code: 'invalid_argument' };
    case PERMISSION_DENIED:
      return { kind: 'notSent', code: 'permission_denied', configuration: true };
    case UNAUTHENTICATED:
      return { kind: 'notSent', code: 'unauthenticated', configuration: true };
    case UNIMPLEMENTED:
      return { kind: 'notSent', code: 'unimplemented', configuration: true };
    case RESOURCE_EXHAUSTED:
      return { kind: 'notSent', code: 'temporal_busy' };
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
  const code = 'code' in answer ? answer.code : 'temporal_error';
  return { kind: 'unknown', code, configuration: answer.kind === 'notSent' && answer.configuration === true };
}

function isNamespaceNotFound(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  if (cause instanceof NamespaceNotFoundError) return true;
  if (!isGrpcServiceError(cause)) return false;
  // A type's name stands in the details as plain ASCII, so nothing has to be decoded to find it.
  return cause.metadata.get(DETAILS).some((details) => details.includes(NAMESPACE_NOT_FOUND));
}

function codeOf(error: unknown): number | undefined {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : undefined;
}

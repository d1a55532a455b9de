import { isGrpcServiceError, ServiceError } from '@temporalio/client';

/** gRPC's status codes, as far as they are told apart here. Source: grpc.io, "Status codes and their use in gRPC". */
export const INVALID_ARGUMENT = 3;
export const DEADLINE_EXCEEDED = 4;
export const NOT_FOUND = 5;
export const ALREADY_EXISTS = 6;
export const PERMISSION_DENIED = 7;
export const RESOURCE_EXHAUSTED = 8;
export const UNIMPLEMENTED = 12;
export const UNAVAILABLE = 14;
export const UNAUTHENTICATED = 16;

/** A call to Temporal that failed, as gRPC tells of it. */
export interface GrpcFailure {
  readonly code: number;
  readonly details: string;
  readonly metadata: { readonly get: (key: string) => readonly (string | Buffer)[] };
}

/** `undefined` for an error of another sort. */
export function grpcFailureOf(error: unknown): GrpcFailure | undefined {
  const cause = causeOfFailure(error);
  return isGrpcServiceError(cause) ? cause : undefined;
}

/** The client wraps what came back from a call in an error of its own. */
export function causeOfFailure(error: unknown): unknown {
  return error instanceof ServiceError ? error.cause : error;
}

import { ServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import {
  answerOfFailure,
  isAlreadyStarted,
  isWorkflowNotFound,
  lookOfFailure,
} from '../../src/providers/temporal-failure.js';

function grpcError(code: number, details: readonly Buffer[] = []): Error {
  return Object.assign(new Error('what the server wrote'), { code, details: '', metadata: { get: () => details } });
}

const wrapped = (error: Error): Error => new ServiceError('the client', { cause: error });

const NAMESPACE_DETAILS = Buffer.from(
  '\u0008\u0005type.googleapis.com/temporal.api.errordetails.v1.NamespaceNotFoundFailure\u0012\u0007nowhere',
);

describe('a failed start or signal', () => {
  test.each([
    [1, 'unknown', 'temporal_error'],
    [2, 'unknown', 'temporal_error'],
    [3, 'refused', 'invalid_argument'],
    [4, 'unknown', 'temporal_timeout'],
    [7, 'unknown', 'permission_denied'],
    [8, 'unknown', 'temporal_busy'],
    [9, 'unknown', 'temporal_error'],
    [10, 'unknown', 'temporal_error'],
    [12, 'unknown', 'unimplemented'],
    [13, 'unknown', 'temporal_error'],
    [14, 'unknown', 'temporal_unavailable'],
    [15, 'unknown', 'temporal_error'],
    [16, 'unknown', 'unauthenticated'],
  ])('with status %i is %s: %s, also in the client’s wrapping', (code, kind, name) => {
    expect(answerOfFailure(grpcError(code))).toMatchObject({ kind, code: name });
    expect(answerOfFailure(wrapped(grpcError(code)))).toMatchObject({ kind, code: name });
    // A look that failed says nothing of what was sent.
    expect(lookOfFailure(grpcError(code))).toMatchObject({ kind: 'unknown', code: name });
  });

  test('tells a namespace that is not there from a workflow that is not there', () => {
    expect(isWorkflowNotFound(grpcError(5))).toBe(true);
    for (const error of [grpcError(5, [NAMESPACE_DETAILS]), wrapped(new NamespaceNotFoundError('nowhere'))]) {
      expect(isWorkflowNotFound(error)).toBe(false);
      expect(answerOfFailure(error)).toEqual({ kind: 'unknown', code: 'namespace_not_found', configuration: true });
    }
  });

  test('that is nothing of gRPC is unknown', () => {
    for (const error of [new TypeError('a bug'), undefined, 'text', { code: 7 }]) {
      expect(answerOfFailure(error)).toEqual({ kind: 'unknown', code: 'temporal_error' });
      expect([isWorkflowNotFound(error), isAlreadyStarted(error)]).toEqual([false, false]);
    }
    expect(isAlreadyStarted(grpcError(6))).toBe(true);
  });
});

import { ActivityFailure, ApplicationFailure, isCancellation } from '@temporalio/workflow';

/** Why an activity call came back without a result. */
export type ActivityTrouble =
  /** What we stand on failed; call again. */
  | { readonly kind: 'infrastructure' }
  /** The same input would fail again; counted. The delay comes from the activity. */
  | { readonly kind: 'defect'; readonly delayMs: number };

/**
 * Tells infrastructure from defects by the failure's type (activities/failures.ts). A time-out means that a worker
 * died or hung in the handler on every attempt, which is a defect too.
 * @throws the error itself when the run was cancelled.
 */
export function describeTrouble(error: unknown): ActivityTrouble {
  if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return { kind: 'defect', delayMs: 0 };
  if (cause.type === 'infrastructure') return { kind: 'infrastructure' };
  const [details] = (cause.details ?? []) as ({ readonly delayMs?: unknown } | undefined)[];
  return { kind: 'defect', delayMs: typeof details?.delayMs === 'number' ? details.delayMs : 0 };
}

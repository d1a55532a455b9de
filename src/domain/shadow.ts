import type { OperationStatus } from './operation.js';

/** What an event in shadow mode would have ended as. `defect`: its handler failed until it would have been quarantined. */
export const SHADOW_OUTCOMES = ['applied', 'duplicate', 'superseded', 'ignored', 'quarantine', 'defect'] as const;
export type ShadowOutcome = (typeof SHADOW_OUTCOMES)[number];

/** The reason that every event decided in shadow mode ends with, beside outcome `ignored`. */
export const SHADOW_REASON = 'shadow';

/** An effect that would have been planned; `status` is the one that its row would have. */
export interface ShadowOperation {
  readonly key: string;
  readonly kind: string;
  readonly params: unknown;
  readonly status: OperationStatus;
}

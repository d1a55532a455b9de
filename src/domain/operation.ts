import { escapeBytes, type Sha256Hex } from './event.js';

/**
 * An external effect's life. `planned`: decided, not begun. `proposed`: waits for an operator's approval. `sending`:
 * the intent is committed, the call may be out. `unknown`: the answer was lost. The last three are final for a run:
 * `confirmed` (the other side did it), `refused` (it said no), `parked` (only a human can decide).
 */
export const OPERATION_STATUSES = [
  'planned',
  'proposed',
  'sending',
  'unknown',
  'confirmed',
  'refused',
  'parked',
] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/** Statuses in which a run has nothing more to do for an operation; approving or settling one starts it again. */
export function isSettledForRun(status: OperationStatus): boolean {
  switch (status) {
    case 'confirmed':
    case 'refused':
    case 'proposed':
    case 'parked':
      return true;
    case 'planned':
    case 'sending':
    case 'unknown':
      return false;
  }
}

/**
 * The business name of an effect, e.g. `operationKey('email', 'order-paid', tenant, order)`: events that call for the
 * same effect share one row by it. Parts are escaped before joining, so no part can imitate a separator.
 */
export function operationKey(kind: string, ...parts: readonly string[]): string {
  return [kind, ...parts].map((part) => escapeBytes(part, /[A-Za-z0-9_.@+-]/)).join(':');
}

/**
 * The key sent to a provider: derived, so that a plan lost with the database and made again carries the same one.
 * `generation` grows only after a definite refusal, by an operator.
 */
export function idempotencyKey(key: string, generation: number, sha256Hex: Sha256Hex): string {
  return `oncehook:${sha256Hex(key).slice(0, 40)}:${generation}`;
}

/** Workflow ID of an operation that no event asked for. */
export function workflowIdForOperation(key: string, sha256Hex: Sha256Hex): string {
  return `operation:${sha256Hex(key).slice(0, 40)}`;
}

/** Input of the workflow `processOperation`. */
export interface ProcessOperationInput {
  readonly operationKey: string;
}

import { WorkflowNotFoundError } from '@temporalio/client';
import { CHECKPOINT_NAMES, type CheckpointName } from '../../src/checkpoints.js';
import type { PaymentEvent } from './payment-event.js';
import type { Stack } from './stack.js';

/** One crash point: who dies there, what that leaves, and how often the mail has gone out when all is over. */
export interface Scene {
  readonly role: 'receiver' | 'worker';
  /** What is there while nobody has gone on. */
  readonly left: Left;
  /** Copies of the one mail in the end. */
  readonly copies: Readonly<Record<'resend' | 'hold', number>>;
}

export interface Left {
  /** Status of the event's row; `null` when there is none. */
  readonly row: 'pending' | 'done' | null;
  /** Whether the sweeper or the apply step has taken the row up. */
  readonly isDispatched: boolean;
  readonly isAcknowledged: boolean;
  readonly run: 'RUNNING' | null;
  readonly order: 'awaiting_payment' | 'paid';
  readonly operation: 'planned' | 'sending' | 'confirmed' | null;
  readonly copies: number;
}

const NOTHING: Left = {
  row: null,
  isDispatched: false,
  isAcknowledged: false,
  run: null,
  order: 'awaiting_payment',
  operation: null,
  copies: 0,
};
const COMMITTED: Left = { ...NOTHING, row: 'pending' };
const ACKNOWLEDGED: Left = { ...COMMITTED, isAcknowledged: true };
const STARTED: Left = { ...ACKNOWLEDGED, run: 'RUNNING' };
const APPLIED: Left = { ...STARTED, row: 'done', isDispatched: true, order: 'paid', operation: 'planned' };

const ONE_COPY = { resend: 1, hold: 1 };

/** Every name has a scene, or this does not compile. */
export const SCENES: Readonly<Record<CheckpointName, Scene>> = {
  'receiver.body-read': { role: 'receiver', left: NOTHING, copies: ONE_COPY },
  'receiver.before-insert': { role: 'receiver', left: NOTHING, copies: ONE_COPY },
  'receiver.after-commit': { role: 'receiver', left: COMMITTED, copies: ONE_COPY },
  'receiver.after-answer': { role: 'receiver', left: ACKNOWLEDGED, copies: ONE_COPY },
  'dispatch.before-start': { role: 'receiver', left: ACKNOWLEDGED, copies: ONE_COPY },
  'dispatch.after-start': { role: 'receiver', left: STARTED, copies: ONE_COPY },
  'sweeper.after-claim': { role: 'worker', left: { ...ACKNOWLEDGED, isDispatched: true }, copies: ONE_COPY },
  'apply.in-transaction': { role: 'worker', left: STARTED, copies: ONE_COPY },
  'apply.before-commit': { role: 'worker', left: STARTED, copies: ONE_COPY },
  'apply.after-commit': { role: 'worker', left: APPLIED, copies: ONE_COPY },
  'operation.before-intent': { role: 'worker', left: APPLIED, copies: ONE_COPY },
  // Whether the mail went out is known to nobody: one policy sends it (again), the other asks an operator.
  'operation.intent-stored': {
    role: 'worker',
    left: { ...APPLIED, operation: 'sending' },
    copies: { resend: 1, hold: 0 },
  },
  'operation.answered': {
    role: 'worker',
    left: { ...APPLIED, operation: 'sending', copies: 1 },
    copies: { resend: 2, hold: 1 },
  },
  'operation.answer-stored': {
    role: 'worker',
    left: { ...APPLIED, operation: 'confirmed', copies: 1 },
    copies: ONE_COPY,
  },
};

/** No server is there: what a receiver dispatches to it is lost, so that the sweeper's turn comes. */
export const NO_TEMPORAL = { TEMPORAL_ADDRESS: '127.0.0.1:1' };

/** Points around the sending of a mail, where its policy decides. */
export const OPERATION_POINTS = CHECKPOINT_NAMES.filter((name) => name.startsWith('operation.'));

/** Points at which nobody can know whether the mail went out. */
export const DOUBTFUL_POINTS = OPERATION_POINTS.filter(
  (name) => SCENES[name].copies.resend !== SCENES[name].copies.hold,
);

/** What is there now, of a stack that was sent a single event. */
export async function whatIsLeft(stack: Stack, event: PaymentEvent): Promise<Left> {
  const { inbox, deliveries, orders, operations, mails } = await stack.evidence();
  const row = inbox[0];
  return {
    row: (row?.status ?? null) as Left['row'],
    isDispatched: row?.isDispatched ?? false,
    isAcknowledged: deliveries.some(({ status }) => status === 200),
    run: await statusOfRun(stack, event),
    order: orders[0]!.status as Left['order'],
    operation: (operations[0]?.status ?? null) as Left['operation'],
    copies: mails.length,
  };
}

/** By asking for the run itself: what a list shows may lag. */
async function statusOfRun(stack: Stack, event: PaymentEvent): Promise<Left['run']> {
  try {
    return (await stack.run(event).describe()).status.name as Left['run'];
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

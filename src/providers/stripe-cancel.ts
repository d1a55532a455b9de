import { z } from 'zod';
import {
  defineOperation,
  type AnyOperationDefinition,
  type OperationAnswer,
  type OperationAttempt,
  type OperationLook,
  type ReconcileAnswer,
} from '../api/index.js';
import type { ConnectStripe } from './stripe-access.js';
import { answerTo, codeOf, lookFailed, paymentIntentOf } from './stripe-answer.js';
import { NO_KEY, paymentId, stripeScope, STRIPE_KEY_TTL_MS } from './stripe-operation.js';

const cancelParams = z.strictObject({
  scope: stripeScope,
  paymentId,
  orderId: z.string().min(1).max(255),
  reason: z.enum(['abandoned', 'duplicate', 'requested_by_customer', 'fraudulent']).nullable(),
});

/** What a handler gives for an operation of kind `cancel_payment_intent`. */
export type CancelParams = z.output<typeof cancelParams>;

/** Code of a cancellation that came too late: the money is there, and only a refund gives it back. */
const TOO_LATE = 'already_succeeded';

/** Cancels a PaymentIntent. Its state tells all: one that is canceled is canceled, whoever did it. */
export function stripeCancelOperation(connect: ConnectStripe): AnyOperationDefinition {
  return defineOperation<CancelParams>({
    kind: 'cancel_payment_intent',
    params: cancelParams,
    perform: (attempt) => perform(attempt, connect),
    classify: answerTo,
    reconcile: (look) => reconcile(look, connect),
    onUnknown: 'reconcile',
    keyTtlMs: STRIPE_KEY_TTL_MS,
  });
}

async function perform(attempt: OperationAttempt<CancelParams>, connect: ConnectStripe): Promise<OperationAnswer> {
  const { params, idempotencyKey, signal } = attempt;
  const connection = connect(params.scope, signal);
  if (connection === null) return { kind: 'notSent', code: NO_KEY, configuration: true };
  const { stripe, request } = connection;
  try {
    const canceled: unknown = await stripe.paymentIntents.cancel(
      params.paymentId,
      params.reason === null ? {} : { cancellation_reason: params.reason },
      { ...request, idempotencyKey },
    );
    const isDone = statusOf(canceled, params.paymentId) === 'canceled';
    return isDone ? { kind: 'confirmed', reference: params.paymentId } : { kind: 'unknown', code: 'answer_nonsense' };
  } catch (error) {
    if (codeOf(error) !== 'payment_intent_unexpected_state') throw error;
    return refusalIn(statusOf(paymentIntentOf(error), params.paymentId), params);
  }
}

/** What the state that stood in the way says of the cancellation. */
function refusalIn(status: string | null, { paymentId: id }: CancelParams): OperationAnswer {
  if (status === 'canceled') return { kind: 'confirmed', reference: id };
  if (status === 'succeeded') return { kind: 'refused', code: TOO_LATE };
  return { kind: 'refused', code: 'payment_intent_unexpected_state' };
}

async function reconcile(look: OperationLook<CancelParams>, connect: ConnectStripe): Promise<ReconcileAnswer> {
  const { params, signal } = look;
  const connection = connect(params.scope, signal);
  if (connection === null) return { kind: 'unknown', code: NO_KEY, configuration: true };
  const { stripe, request } = connection;
  try {
    const status = statusOf(await stripe.paymentIntents.retrieve(params.paymentId, {}, request), params.paymentId);
    if (status === null) return { kind: 'unknown', code: 'answer_nonsense' };
    if (status === 'canceled') return { kind: 'found', reference: params.paymentId };
    // Final: nothing that was sent can cancel it any more.
    return status === 'succeeded' ? { kind: 'refused', code: TOO_LATE } : { kind: 'absent' };
  } catch (error) {
    return lookFailed(error);
  }
}

const paymentObject = z.looseObject({ object: z.literal('payment_intent'), id: z.string(), status: z.string() });

/** Null when the value is not that PaymentIntent. */
function statusOf(value: unknown, id: string): string | null {
  const parsed = paymentObject.safeParse(value);
  return parsed.success && parsed.data.id === id ? parsed.data.status : null;
}

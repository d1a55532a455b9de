import { z } from 'zod';
import {
  defineOperation,
  isMinorAmount,
  type AnyOperationDefinition,
  type OperationAnswer,
  type OperationAttempt,
  type OperationContext,
  type OperationLook,
  type ReconcileAnswer,
} from '../api/index.js';
import type { ConnectStripe, StripeConnection } from './stripe-access.js';
import { answerTo, codeOf, lookFailed } from './stripe-answer.js';
import { NO_KEY, operationIdOf, paymentId, stripeScope, STRIPE_KEY_TTL_MS } from './stripe-operation.js';

const refundParams = z.strictObject({
  scope: stripeScope,
  paymentId,
  amountMinor: z.int().positive(),
  currency: z.string().regex(/^[a-z]{3}$/),
  orderId: z.string().min(1).max(255),
  /** `requested` by an application or operator; the others are called for by what was paid. */
  purpose: z.enum(['requested', 'late', 'surplus', 'excess']),
  reason: z.enum(['requested_by_customer', 'duplicate', 'fraudulent']).nullable(),
});

/** What a handler gives for an operation of kind `refund`. */
export type RefundParams = z.output<typeof refundParams>;

/** Refunds through Stripe: looked for before every send, sent under one key, and only while the payment has room. */
export function stripeRefundOperation(connect: ConnectStripe): AnyOperationDefinition {
  return defineOperation<RefundParams>({
    kind: 'refund',
    params: refundParams,
    amountMinor: ({ amountMinor }) => amountMinor,
    perform: (attempt) => perform(attempt, connect),
    classify: answerTo,
    reconcile: (look) => reconcile(look, connect),
    onUnknown: 'reconcile',
    keyTtlMs: STRIPE_KEY_TTL_MS,
  });
}

async function perform(attempt: OperationAttempt<RefundParams>, connect: ConnectStripe): Promise<OperationAnswer> {
  const { params, idempotencyKey, signal } = attempt;
  const connection = connect(params.scope, signal);
  if (connection === null) return { kind: 'notSent', code: NO_KEY, configuration: true };
  const { stripe, request } = connection;
  try {
    const made: unknown = await stripe.refunds.create(
      {
        payment_intent: params.paymentId,
        amount: params.amountMinor,
        ...(params.reason === null ? {} : { reason: params.reason }),
        metadata: { operation_id: operationIdOf(attempt), order_id: params.orderId, tenant_id: attempt.tenant },
      },
      { ...request, idempotencyKey },
    );
    const refund = readRefund(made);
    // The SDK resolves with whatever JSON came, also a proxy's or another object's.
    if (refund === null || !isTheRefund(refund, params)) return { kind: 'unknown', code: 'answer_nonsense' };
    return { kind: 'confirmed', reference: refund.id };
  } catch (error) {
    if (codeOf(error) !== 'charge_already_refunded') throw error;
    return whoseRefund(attempt, connection);
  }
}

/** Nothing is left to refund, possibly because an attempt of ours took it. */
async function whoseRefund(
  attempt: OperationAttempt<RefundParams>,
  connection: StripeConnection,
): Promise<OperationAnswer> {
  try {
    const refunds = await refundsOf(attempt.params.paymentId, connection);
    if (refunds === null) return { kind: 'unknown', code: 'answer_nonsense' };
    const own = ownRefund(refunds, attempt);
    return own === null ? { kind: 'refused', code: 'charge_already_refunded' } : adopt(own, attempt.params);
  } catch {
    return { kind: 'unknown', code: 'charge_already_refunded' };
  }
}

async function reconcile(look: OperationLook<RefundParams>, connect: ConnectStripe): Promise<ReconcileAnswer> {
  const { params, signal, inDoubt } = look;
  const connection = connect(params.scope, signal);
  if (connection === null) return { kind: 'unknown', code: NO_KEY, configuration: true };
  const { stripe, request } = connection;
  try {
    const [intent, refunds] = await Promise.all([
      stripe.paymentIntents.retrieve(params.paymentId, {}, request),
      refundsOf(params.paymentId, connection),
    ]);
    if (refunds === null) return { kind: 'unknown', code: 'answer_nonsense' };
    const own = ownRefund(refunds, look);
    if (own !== null) {
      const answer = adopt(own, params);
      return answer.kind === 'confirmed' ? { kind: 'found', reference: own.id } : answer;
    }
    return fit(readPayment(intent), refunds, params, inDoubt);
  } catch (error) {
    return lookFailed(error);
  }
}

/** Whether the payment, as it is now, has room for the refund that is not there yet. */
function fit(
  payment: Payment | null,
  refunds: readonly Refund[],
  params: RefundParams,
  inDoubt: boolean,
): ReconcileAnswer {
  if (payment?.id !== params.paymentId) return { kind: 'unknown', code: 'answer_nonsense' };
  if (payment.status !== 'succeeded') return { kind: 'park', code: 'payment_not_succeeded' };
  if (payment.currency !== params.currency) return { kind: 'park', code: 'currency_mismatch' };
  const given = refunds.filter(({ status }) => status !== 'failed' && status !== 'canceled');
  const left = payment.receivedMinor - given.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  if (left >= params.amountMinor) return { kind: 'absent' };
  // Somebody else gave it all back already; what may still come of an attempt of ours is a person's to judge.
  return left <= 0 && !inDoubt ? { kind: 'refused', code: 'nothing_left' } : { kind: 'park', code: 'exceeds_payment' };
}

interface Refund {
  readonly id: string;
  readonly paymentId: string | null;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: string | null;
  readonly operationId: string | null;
}

interface Payment {
  readonly id: string;
  readonly status: string;
  readonly currency: string;
  readonly receivedMinor: number;
}

/** All refunds of the payment; null when what came is not a list of refunds. */
async function refundsOf(payment: string, { stripe, request }: StripeConnection): Promise<readonly Refund[] | null> {
  const refunds: Refund[] = [];
  for await (const listed of stripe.refunds.list({ payment_intent: payment, limit: 100 }, request)) {
    const refund = readRefund(listed);
    if (refund === null) return null;
    refunds.push(refund);
  }
  return refunds;
}

function ownRefund(refunds: readonly Refund[], context: OperationContext<RefundParams>): Refund | null {
  const operationId = operationIdOf(context);
  return refunds.find((refund) => refund.operationId === operationId) ?? null;
}

/** A refund under our name is ours, whatever its status is by now; with another amount somebody else made it up. */
function adopt(refund: Refund, params: RefundParams): Extract<OperationAnswer, { kind: 'confirmed' | 'park' }> {
  if (!isTheRefund(refund, params)) return { kind: 'park', code: 'refund_conflict' };
  return { kind: 'confirmed', reference: refund.id };
}

function isTheRefund(refund: Refund, { paymentId: payment, amountMinor, currency }: RefundParams): boolean {
  return refund.paymentId === payment && refund.amountMinor === amountMinor && refund.currency === currency;
}

const refundObject = z.looseObject({
  object: z.literal('refund'),
  id: z.string().min(1),
  amount: z.number().refine(isMinorAmount),
  currency: z.string(),
  payment_intent: z.string().nullish(),
  status: z.string().nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
});

function readRefund(value: unknown): Refund | null {
  const parsed = refundObject.safeParse(value);
  if (!parsed.success) return null;
  const { id, amount, currency, payment_intent: intent, status, metadata } = parsed.data;
  const operationId = metadata?.operation_id;
  return {
    id,
    paymentId: intent ?? null,
    amountMinor: amount,
    currency: currency.toLowerCase(),
    status: status ?? null,
    operationId: typeof operationId === 'string' ? operationId : null,
  };
}

const paymentObject = z.looseObject({
  object: z.literal('payment_intent'),
  id: z.string(),
  status: z.string(),
  currency: z.string(),
  amount: z.number().refine(isMinorAmount),
  amount_received: z.number().refine(isMinorAmount).nullish(),
  capture_method: z.string().nullish(),
});

function readPayment(value: unknown): Payment | null {
  const parsed = paymentObject.safeParse(value);
  if (!parsed.success) return null;
  const { id, status, currency, amount, amount_received: received, capture_method: capture } = parsed.data;
  // Old API versions and stand-ins have no amount_received; without a manual capture all of it was.
  const receivedMinor = received ?? (capture === 'manual' ? null : amount);
  return receivedMinor === null ? null : { id, status, currency: currency.toLowerCase(), receivedMinor };
}

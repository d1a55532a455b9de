import { z } from 'zod';
import type { Answer } from './answer.js';
import { newId, recount, type Books, type Dispute, type RefundStatus } from './books.js';
import type { FaultScript } from './faults.js';
import type { WebhookSender } from './webhooks.js';

/** What may be changed from outside. */
export interface ControlState {
  readonly faults: FaultScript;
  readonly webhooks: WebhookSender;
  readonly setClockOffset: (ms: number) => void;
  readonly setRefundStatus: (status: RefundStatus) => void;
  readonly books: (account: string | null, livemode: boolean) => Books;
  readonly emit: (books: Books, type: string, object: unknown) => void;
  /** In seconds. */
  readonly now: () => number;
}

const refundStatus = z.enum(['pending', 'requires_action', 'succeeded', 'failed', 'canceled']);
const place = { account: z.string().nullable().default(null), livemode: z.boolean().default(false) };
const request = z.object({
  method: z.enum(['GET', 'POST']).optional(),
  path: z.string().optional(),
  times: z.int().optional(),
});
const plainFault = z.enum(['reset', 'lose-answer', 'drip', 'truncated', 'non-json', 'other-object']);

const BODIES = {
  /** The script of the next requests; replaces what is left of the last one. */
  faults: z.array(
    z.discriminatedUnion('kind', [
      request.extend({ kind: plainFault }),
      request.extend({ kind: z.enum(['hang', 'stored-500']), executes: z.boolean() }),
      request.extend({ kind: z.literal('slow'), ms: z.number() }),
      request.extend({
        kind: z.literal('status'),
        status: z.int(),
        code: z.string().optional(),
        headers: z.record(z.string(), z.string()).optional(),
      }),
    ]),
  ),
  /** Moves the stand-in's clock, by which keys grow old. */
  clock: z.object({ offsetMs: z.number() }),
  /** What refunds made from now on are at first. */
  'refund-status': z.object({ status: refundStatus }),
  /** What became of a refund later. */
  refund: z.object({ ...place, id: z.string(), status: refundStatus, failureReason: z.string().optional() }),
  /** A dispute of a payment, opened or moved on. */
  dispute: z.object({ ...place, paymentIntent: z.string(), status: z.string(), amount: z.int().optional() }),
  /** Where events are sent; null for nowhere. */
  webhooks: z.object({ url: z.string(), secret: z.string() }).nullable(),
} as const;

type Name = keyof typeof BODIES;

/** `POST /_control/{name}` with a JSON body. */
export function applyControl(state: ControlState, method: string, name: string, text: string): Answer {
  if (method !== 'POST' || !Object.hasOwn(BODIES, name)) return { status: 404, body: { error: 'no such control' } };
  const parsed = BODIES[name as Name].safeParse(JSON.parse(text));
  if (!parsed.success) return { status: 400, body: { error: z.prettifyError(parsed.error) } };
  return { status: 200, body: HANDLERS[name as Name](state, parsed.data as never) ?? {} };
}

const HANDLERS: { readonly [N in Name]: (state: ControlState, body: z.output<(typeof BODIES)[N]>) => unknown } = {
  faults: ({ faults }, script) => {
    faults.set(script as Parameters<FaultScript['set']>[0]);
  },
  clock: ({ setClockOffset }, { offsetMs }) => {
    setClockOffset(offsetMs);
  },
  'refund-status': ({ setRefundStatus }, { status }) => {
    setRefundStatus(status);
  },
  refund: moveRefund,
  dispute: moveDispute,
  webhooks: ({ webhooks }, target) => {
    webhooks.sendTo(target);
  },
};

function moveRefund(
  state: ControlState,
  { account, livemode, id, status, failureReason }: z.output<(typeof BODIES)['refund']>,
): unknown {
  const books = state.books(account, livemode);
  const refund = books.refunds.get(id);
  if (refund === undefined) throw new Error(`no refund ${id}`);
  refund.status = status;
  if (failureReason !== undefined) refund.failure_reason = failureReason;
  const charge = books.charges.get(refund.charge);
  if (charge !== undefined) recount(books, charge);
  state.emit(books, 'refund.updated', refund);
  if (status === 'failed') state.emit(books, 'refund.failed', refund);
  return refund;
}

function moveDispute(
  state: ControlState,
  { account, livemode, paymentIntent, status, amount }: z.output<(typeof BODIES)['dispute']>,
): unknown {
  const books = state.books(account, livemode);
  const intent = books.paymentIntents.get(paymentIntent);
  const charge = books.charges.get(intent?.latest_charge ?? '');
  if (charge === undefined) throw new Error(`no charge of ${paymentIntent}`);
  const known = [...books.disputes.values()].find((dispute) => dispute.charge === charge.id);
  const dispute: Dispute = known ?? {
    id: newId('dp'),
    object: 'dispute',
    amount: amount ?? charge.amount,
    charge: charge.id,
    created: state.now(),
    currency: charge.currency,
    livemode,
    metadata: {},
    payment_intent: paymentIntent,
    reason: 'general',
    status,
  };
  dispute.status = status;
  books.disputes.set(dispute.id, dispute);
  const isOver = status === 'won' || status === 'lost' || status === 'warning_closed';
  charge.disputed = !isOver && !status.startsWith('warning_');
  const change = known === undefined ? 'created' : isOver ? 'closed' : 'updated';
  state.emit(books, `charge.dispute.${change}`, dispute);
  return dispute;
}

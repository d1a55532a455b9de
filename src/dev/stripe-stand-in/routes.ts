import { forbidden, invalid, missing, Refusal } from './answer.js';
import {
  newId,
  page,
  recount,
  refundable,
  type Books,
  type Charge,
  type PaymentIntent,
  type Refund,
  type RefundStatus,
} from './books.js';
import { mapOf, textOf, type Params } from './form.js';
import type { LedgerEntry } from './ledger.js';

/** A request that has been admitted, and what its execution may do. */
export interface Call {
  readonly books: Books;
  readonly params: Params;
  readonly idempotencyKey: string | null;
  /** In seconds, by the stand-in's clock. */
  readonly now: number;
  readonly note: (entry: LedgerEntry) => void;
  readonly emit: (type: string, object: unknown) => void;
  /** What new refunds are at first. */
  readonly refundStatus: RefundStatus;
}

interface Route {
  readonly method: 'GET' | 'POST';
  /** `:id` stands for one step of the path. */
  readonly path: string;
  /** Parameters that Stripe knows and so do we; any other is refused, as Stripe refuses unknown ones. */
  readonly knows: readonly string[];
  readonly run: (call: Call, id: string) => unknown;
}

const LIST = ['limit', 'starting_after'];

const ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/payment_intents',
    knows: [
      'amount',
      'currency',
      'capture_method',
      'confirm',
      'description',
      'metadata',
      'payment_method',
      'payment_method_types',
    ],
    run: createPaymentIntent,
  },
  { method: 'GET', path: '/v1/payment_intents', knows: LIST, run: listPaymentIntents },
  { method: 'GET', path: '/v1/payment_intents/:id', knows: [], run: ({ books }, id) => intentOf(books, id) },
  { method: 'POST', path: '/v1/payment_intents/:id/confirm', knows: ['payment_method'], run: confirm },
  { method: 'POST', path: '/v1/payment_intents/:id/capture', knows: ['amount_to_capture'], run: capture },
  { method: 'POST', path: '/v1/payment_intents/:id/cancel', knows: ['cancellation_reason'], run: cancel },
  {
    method: 'POST',
    path: '/v1/refunds',
    knows: ['amount', 'charge', 'metadata', 'payment_intent', 'reason'],
    run: createRefund,
  },
  { method: 'GET', path: '/v1/refunds', knows: [...LIST, 'charge', 'payment_intent'], run: listRefunds },
  {
    method: 'GET',
    path: '/v1/refunds/:id',
    knows: [],
    run: ({ books }, id) => found('refund', id, books.refunds.get(id)),
  },
  {
    method: 'GET',
    path: '/v1/charges/:id',
    knows: [],
    run: ({ books }, id) => found('charge', id, books.charges.get(id)),
  },
  {
    method: 'GET',
    path: '/v1/disputes/:id',
    knows: [],
    run: ({ books }, id) => found('dispute', id, books.disputes.get(id)),
  },
  {
    method: 'GET',
    path: '/v1/events',
    knows: LIST,
    run: ({ books, params }) => page([...books.events.values()], '/v1/events', paging(params)),
  },
  {
    method: 'GET',
    path: '/v1/events/:id',
    knows: [],
    run: ({ books }, id) => found('event', id, books.events.get(id)),
  },
];

/** @returns what to run for a request, or undefined where Stripe has nothing that is known here. */
export function routeFor(method: string, path: string): ((call: Call) => unknown) | undefined {
  for (const route of ROUTES) {
    const id = route.method === method ? matched(route.path, path) : undefined;
    if (id === undefined) continue;
    return (call) => {
      const unknown = Object.keys(call.params).find((name) => !route.knows.includes(name));
      if (unknown !== undefined) throw invalid(`Received unknown parameter: ${unknown}`, unknown, 'parameter_unknown');
      return route.run(call, id);
    };
  }
  return undefined;
}

/** The value of `:id`; empty where the route has none. */
function matched(pattern: string, path: string): string | undefined {
  const wanted = pattern.split('/');
  const steps = path.split('/');
  if (wanted.length !== steps.length) return undefined;
  if (!wanted.every((step, index) => step === ':id' || step === steps[index])) return undefined;
  return steps[wanted.indexOf(':id')] ?? '';
}

function createPaymentIntent(call: Call): PaymentIntent {
  const { books, params, now } = call;
  const amount = amountIn(params, 'amount');
  if (amount === null) throw invalid('Missing required param: amount.', 'amount', 'parameter_missing');
  const currency = textOf(params, 'currency');
  if (currency === null) throw invalid('Missing required param: currency.', 'currency', 'parameter_missing');
  const method = textOf(params, 'payment_method');
  const intent: PaymentIntent = {
    id: newId('pi'),
    object: 'payment_intent',
    amount,
    amount_capturable: 0,
    amount_received: 0,
    capture_method: textOf(params, 'capture_method') === 'manual' ? 'manual' : 'automatic_async',
    created: now,
    currency: currency.toLowerCase(),
    latest_charge: null,
    livemode: books.livemode,
    metadata: mapOf(params, 'metadata'),
    status: method === null ? 'requires_payment_method' : 'requires_confirmation',
    cancellation_reason: null,
    payment_method: method,
  };
  books.paymentIntents.set(intent.id, intent);
  call.emit('payment_intent.created', intent);
  return textOf(params, 'confirm') === 'true' ? charge(call, intent) : intent;
}

function listPaymentIntents({ books, params }: Call): unknown {
  return page([...books.paymentIntents.values()], '/v1/payment_intents', paging(params));
}

function confirm(call: Call, id: string): PaymentIntent {
  const intent = intentOf(call.books, id);
  intent.payment_method = textOf(call.params, 'payment_method') ?? intent.payment_method;
  if (intent.status !== 'requires_payment_method' && intent.status !== 'requires_confirmation') {
    throw unexpectedState(intent, 'confirmed');
  }
  if (intent.payment_method === null) throw invalid('A payment method is missing.', 'payment_method');
  return charge(call, intent);
}

/** Methods of Stripe's own test set (docs.stripe.com/testing). */
const DECLINED = ['pm_card_chargeCustomerFail', 'pm_card_chargeDeclined', 'pm_card_visa_chargeDeclined'];

function charge(call: Call, intent: PaymentIntent): PaymentIntent {
  const { books, now } = call;
  if (DECLINED.includes(intent.payment_method ?? '')) {
    intent.status = 'requires_payment_method';
    intent.payment_method = null;
    call.emit('payment_intent.payment_failed', intent);
    const details = { type: 'card_error', code: 'card_declined', payment_intent: intent } as const;
    throw new Refusal(402, details, 'Your card was declined.', true);
  }
  const captured = intent.capture_method !== 'manual';
  const made: Charge = {
    id: newId('ch'),
    object: 'charge',
    amount: intent.amount,
    amount_captured: captured ? intent.amount : 0,
    amount_refunded: 0,
    captured,
    created: now,
    currency: intent.currency,
    disputed: false,
    livemode: books.livemode,
    metadata: intent.metadata,
    payment_intent: intent.id,
    refunded: false,
    status: 'succeeded',
  };
  books.charges.set(made.id, made);
  intent.latest_charge = made.id;
  intent.status = captured ? 'succeeded' : 'requires_capture';
  intent.amount_received = captured ? intent.amount : 0;
  intent.amount_capturable = captured ? 0 : intent.amount;
  call.note(entryOf(call, 'payment', intent.id, intent, intent.amount));
  call.emit('charge.succeeded', made);
  call.emit(captured ? 'payment_intent.succeeded' : 'payment_intent.amount_capturable_updated', intent);
  return intent;
}

function capture(call: Call, id: string): PaymentIntent {
  const { books, params } = call;
  const intent = intentOf(books, id);
  if (intent.status !== 'requires_capture') throw unexpectedState(intent, 'captured');
  const amount = amountIn(params, 'amount_to_capture') ?? intent.amount;
  if (amount > intent.amount)
    throw invalid('The amount to capture is too large.', 'amount_to_capture', 'amount_too_large');
  const made = chargeOf(books, intent.latest_charge);
  made.captured = true;
  made.amount_captured = amount;
  intent.status = 'succeeded';
  intent.amount_received = amount;
  intent.amount_capturable = 0;
  call.note(entryOf(call, 'capture', intent.id, intent, amount));
  call.emit('charge.captured', made);
  call.emit('payment_intent.succeeded', intent);
  return intent;
}

function cancel(call: Call, id: string): PaymentIntent {
  const intent = intentOf(call.books, id);
  if (['succeeded', 'canceled', 'processing'].includes(intent.status)) throw unexpectedState(intent, 'canceled');
  intent.status = 'canceled';
  intent.amount_capturable = 0;
  intent.cancellation_reason = textOf(call.params, 'cancellation_reason');
  call.note(entryOf(call, 'cancel', intent.id, intent, intent.amount));
  call.emit('payment_intent.canceled', intent);
  return intent;
}

function createRefund(call: Call): Refund {
  const { books, params, now } = call;
  const made = chargeToRefund(books, params);
  if (made.disputed) throw forbidden('charge_disputed', 'This charge has been disputed.');
  const left = refundable(books, made);
  const amount = amountIn(params, 'amount') ?? left;
  if (amount > left || left === 0) {
    throw forbidden('charge_already_refunded', `${left} of charge ${made.id} are left to refund, not ${amount}.`);
  }
  const refund: Refund = {
    id: newId('re'),
    object: 'refund',
    amount,
    charge: made.id,
    created: now,
    currency: made.currency,
    metadata: mapOf(params, 'metadata'),
    payment_intent: made.payment_intent,
    reason: textOf(params, 'reason'),
    status: call.refundStatus,
  };
  books.refunds.set(refund.id, refund);
  recount(books, made);
  call.note({
    ...entryOf(call, 'refund', refund.id, made, amount),
    paymentIntent: refund.payment_intent,
    metadata: refund.metadata,
  });
  call.emit('refund.created', refund);
  call.emit('charge.refunded', made);
  return refund;
}

function chargeToRefund(books: Books, params: Params): Charge {
  const chargeId = textOf(params, 'charge');
  if (chargeId !== null) return found('charge', chargeId, books.charges.get(chargeId));
  const intentId = textOf(params, 'payment_intent');
  if (intentId === null) {
    throw invalid(
      'One of the following params should be provided: charge or payment_intent.',
      'charge',
      'parameter_missing',
    );
  }
  const intent = found('payment_intent', intentId, books.paymentIntents.get(intentId));
  if (intent.status !== 'succeeded') {
    throw invalid(`This PaymentIntent (${intentId}) does not have a successful charge to refund.`);
  }
  return chargeOf(books, intent.latest_charge);
}

function listRefunds({ books, params }: Call): unknown {
  const intent = textOf(params, 'payment_intent');
  const ofCharge = textOf(params, 'charge');
  if (intent !== null) intentOf(books, intent);
  const refunds = [...books.refunds.values()].filter(
    (refund) =>
      (intent === null || refund.payment_intent === intent) && (ofCharge === null || refund.charge === ofCharge),
  );
  return page(refunds, '/v1/refunds', paging(params));
}

function unexpectedState(intent: PaymentIntent, wanted: string): Refusal {
  const message = `This PaymentIntent could not be ${wanted} because it has a status of ${intent.status}.`;
  return forbidden('payment_intent_unexpected_state', message, { ...intent });
}

function entryOf(
  { books, idempotencyKey }: Call,
  effect: LedgerEntry['effect'],
  id: string,
  { currency, metadata }: { readonly currency: string; readonly metadata: LedgerEntry['metadata'] },
  amount: number,
): LedgerEntry {
  return { effect, id, paymentIntent: id, amount, currency, idempotencyKey, metadata, account: books.account };
}

function intentOf(books: Books, id: string): PaymentIntent {
  return found('payment_intent', id, books.paymentIntents.get(id));
}

function chargeOf(books: Books, id: string | null): Charge {
  return found('charge', String(id), books.charges.get(id ?? ''));
}

function found<Thing>(what: string, id: string, thing: Thing | undefined): Thing {
  if (thing === undefined) throw missing(what, id);
  return thing;
}

/** A positive integer in minor units; null where the parameter is not given. */
function amountIn(params: Params, name: string): number | null {
  const text = textOf(params, name);
  if (text === null) return null;
  const amount = Number(text);
  if (!Number.isSafeInteger(amount) || amount < 1)
    throw invalid(`Invalid positive integer: ${text}`, name, 'parameter_invalid_integer');
  return amount;
}

function paging(params: Params): { readonly limit: number; readonly startingAfter: string | null } {
  const limit = Number(textOf(params, 'limit') ?? '10');
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 100) throw invalid('Limit is from 1 to 100.', 'limit');
  return { limit, startingAfter: textOf(params, 'starting_after') };
}

import {
  applied,
  duplicate,
  fetch,
  ignored,
  quarantine,
  quarantineAndHold,
  superseded,
  type Circumstances,
  type Decision,
} from './decision.js';
import { cancelPayment } from './effects.js';
import type { PaymentFact } from './facts.js';
import {
  isLive,
  isPaid,
  paymentOf,
  withOrder,
  withPayment,
  type OrderCase,
  type Payment,
  type PaymentStatus,
} from './order-case.js';
import { decideSucceeded } from './decide-succeeded.js';
import { bindIfFree, storedOrNew } from './new-payment.js';
import { paymentReference } from './references.js';
import { settleOrder } from './settle-order.js';

/** The table of payment facts (docs/order-state.md): what a PaymentIntent's state means for its order. */
export function decidePayment(given: OrderCase, fact: PaymentFact, circumstances: Circumstances): Decision {
  if (fact.currency !== given.order.currency) return quarantine('currency_mismatch');
  const orderCase = bindIfFree(given, fact.paymentId);
  switch (fact.state) {
    case 'succeeded':
      return decideSucceeded(orderCase, fact, circumstances);
    case 'canceled':
      return decideCanceled(orderCase, fact, circumstances);
    case 'failed':
      return decideFailed(orderCase, fact, circumstances);
    case 'authorized':
      return decideAuthorized(orderCase, fact, circumstances);
    case 'processing':
      return decideProcessing(orderCase, fact, circumstances);
    case 'partially_funded':
      if (orderCase.order.status === 'canceled') return quarantine('late_partial_funding');
      return advance(orderCase, fact, circumstances);
    case 'open':
      return advance(orderCase, fact, circumstances);
  }
}

/** Money under way. After a failed attempt it may be the older news, and only the provider knows. */
function decideProcessing(orderCase: OrderCase, fact: PaymentFact, circumstances: Circumstances): Decision {
  const known = paymentOf(orderCase, fact.paymentId);
  if (known?.status !== 'open' || !known.attemptFailed) return advance(orderCase, fact, circumstances);
  const look = circumstances.looks.payment(fact.paymentId);
  switch (look.kind) {
    case 'unasked':
      return fetch(paymentReference(fact.paymentId));
    case 'found':
      if (look.value.state === 'processing') return advance(orderCase, fact, circumstances);
      return isEarly(look.value) ? superseded(orderCase) : decideNews(orderCase, look.value, circumstances);
    case 'missing':
    case 'unavailable':
    case 'unreadable':
      return advance(orderCase, fact, circumstances);
  }
}

function decideAuthorized(orderCase: OrderCase, fact: PaymentFact, circumstances: Circumstances): Decision {
  const { order } = orderCase;
  const known = paymentOf(orderCase, fact.paymentId);
  if (known?.status === 'authorized' && known.capturableMinor !== fact.capturableMinor) {
    return applied(settleOrder(withPayment(orderCase, { ...known, capturableMinor: fact.capturableMinor })));
  }
  const decision = advance(orderCase, fact, circumstances);
  if (order.status !== 'canceled' || decision.kind !== 'stand' || decision.outcome !== 'applied') return decision;
  // A hold is released by canceling it; an uncaptured charge is never refunded.
  return { ...decision, operations: [cancelPayment(circumstances, order.id, fact.paymentId, 'abandoned')] };
}

/** An attempt was declined. The same payment may still succeed, and may have succeeded before this arrived. */
function decideFailed(orderCase: OrderCase, fact: PaymentFact, circumstances: Circumstances): Decision {
  const { order } = orderCase;
  const known = paymentOf(orderCase, fact.paymentId);
  if (known !== undefined && rankOf(known.status) > rankOf('authorized')) return superseded(orderCase);
  if (isPaid(order.status) || order.status === 'canceled') return ignored(orderCase);
  if (known === undefined || known.status === 'open') return noteFailure(orderCase, fact);
  const look = circumstances.looks.payment(fact.paymentId);
  switch (look.kind) {
    case 'unasked':
      return fetch(paymentReference(fact.paymentId));
    case 'found':
      if (isEarly(look.value)) return noteFailure(orderCase, fact);
      if (look.value.state === 'processing' || look.value.state === 'authorized') break;
      return decideNews(orderCase, look.value, circumstances);
    case 'missing':
    case 'unavailable':
    case 'unreadable':
      break;
  }
  return superseded(withPayment(orderCase, { ...known, attemptFailed: true }));
}

function noteFailure(orderCase: OrderCase, fact: PaymentFact): Decision {
  const known = paymentOf(orderCase, fact.paymentId);
  if (known?.attemptFailed === true && known.status === 'open') return duplicate(orderCase);
  const payment = storedOrNew(orderCase, fact);
  return applied(settleOrder(withPayment(orderCase, { ...payment, status: 'open', attemptFailed: true })));
}

/** Final for the payment. Final for the order only when no other payment can still pay it, and the provider agrees. */
function decideCanceled(orderCase: OrderCase, fact: PaymentFact, circumstances: Circumstances): Decision {
  const { order } = orderCase;
  const known = paymentOf(orderCase, fact.paymentId);
  if (known?.status === 'succeeded') return decideCanceledAfterSuccess(orderCase, known, circumstances);
  const next = withPayment(orderCase, { ...storedOrNew(orderCase, fact), status: 'canceled' });
  if (isPaid(order.status) || order.status === 'canceled' || !isAbandoned(next)) {
    return known?.status === 'canceled' ? duplicate(orderCase) : applied(settleOrder(next));
  }
  const look = circumstances.looks.payment(fact.paymentId);
  if (look.kind === 'unasked') return fetch(paymentReference(fact.paymentId));
  if (look.kind === 'found' && look.value.state !== 'canceled') {
    return decideNews(orderCase, look.value, circumstances);
  }
  return applied(settleOrder(withOrder(next, { status: 'canceled' })));
}

function decideCanceledAfterSuccess(orderCase: OrderCase, known: Payment, { looks }: Circumstances): Decision {
  const look = looks.payment(known.paymentId);
  if (look.kind === 'unasked') return fetch(paymentReference(known.paymentId));
  if (look.kind === 'found' && look.value.state === 'succeeded') return superseded(orderCase);
  return known.role === 'bound' ? quarantineAndHold('contradiction', orderCase) : quarantine('contradiction');
}

/** The bound payment is canceled and no other one is under way. A bound payment that no event named yet is. */
function isAbandoned({ order, payments }: OrderCase): boolean {
  return (
    payments.some(({ paymentId, status }) => paymentId === order.providerPaymentId && status === 'canceled') &&
    !payments.some(isLive)
  );
}

/** What the provider says now, of a payment that an older fact was about. It is not fetched again. */
function decideNews(orderCase: OrderCase, news: PaymentFact, circumstances: Circumstances): Decision {
  switch (news.state) {
    case 'succeeded':
    case 'canceled':
      return decidePayment(orderCase, news, circumstances);
    case 'authorized':
    case 'processing':
    case 'open':
    case 'failed':
    case 'partially_funded':
      return advance(orderCase, news, circumstances);
  }
}

/** A payment only ever gets further here; what would take it back is asked for above. */
function advance(orderCase: OrderCase, fact: PaymentFact, circumstances: Circumstances): Decision {
  const known = paymentOf(orderCase, fact.paymentId);
  const status = statusOf(fact);
  if (known !== undefined && rankOf(known.status) > rankOf(status)) return superseded(orderCase);
  if (known?.status === status) return duplicate(orderCase);
  const payment = storedOrNew(orderCase, fact);
  const next = withPayment(orderCase, { ...payment, status, capturableMinor: fact.capturableMinor });
  // A paid order needs no further payment: what could still take money is canceled.
  const cancels = isPaid(orderCase.order.status)
    ? [cancelPayment(circumstances, orderCase.order.id, fact.paymentId, 'duplicate')]
    : [];
  return applied(settleOrder(next), ...cancels);
}

function statusOf({ state }: PaymentFact): PaymentStatus {
  return state === 'failed' || state === 'partially_funded' ? 'open' : state;
}

/** Before any money is under way. */
function isEarly({ state }: PaymentFact): boolean {
  return state === 'open' || state === 'failed' || state === 'partially_funded';
}

function rankOf(status: PaymentStatus): number {
  return RANKS.indexOf(status === 'canceled' ? 'succeeded' : status);
}

const RANKS: readonly PaymentStatus[] = ['open', 'processing', 'authorized', 'succeeded'];

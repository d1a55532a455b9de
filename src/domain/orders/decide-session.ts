import {
  applied,
  duplicate,
  fetch,
  ignored,
  quarantine,
  superseded,
  type Circumstances,
  type Decision,
} from './decision.js';
import { decidePayment } from './decide-payment.js';
import type { PaymentFact, SessionFact } from './facts.js';
import { orderPaidMail } from './effects.js';
import { isLive, isPaid, paymentOf, withOrder, type OrderCase } from './order-case.js';
import { paymentReference, sessionReference } from './references.js';
import { isFrozen } from './settle-order.js';

/** The table of Checkout Sessions: most of what they say is said of their payment, too, and decided there. */
export function decideSession(orderCase: OrderCase, fact: SessionFact, circumstances: Circumstances): Decision {
  if (fact.currency !== orderCase.order.currency) return quarantine('currency_mismatch');
  switch (fact.state) {
    case 'open':
      return ignored(orderCase);
    case 'expired':
      return decideExpired(orderCase, fact, circumstances);
    case 'free':
      return decideFree(orderCase, fact, circumstances);
    case 'paid':
      return decidePaid(orderCase, fact, circumstances);
    case 'unpaid':
      return fact.paymentId === null
        ? ignored(orderCase)
        : decidePayment(orderCase, asPayment(fact, fact.paymentId, 'open'), circumstances);
    case 'failed':
      return fact.paymentId === null
        ? ignored(orderCase)
        : decidePayment(orderCase, asPayment(fact, fact.paymentId, 'failed'), circumstances);
  }
}

/** What was captured is the payment's to say; the session's total stands for it only where both must be the same. */
function decidePaid(orderCase: OrderCase, fact: SessionFact, circumstances: Circumstances): Decision {
  const { paymentId } = fact;
  if (paymentId === null) return quarantine('session_without_payment');
  const stated = asPayment(fact, paymentId, 'succeeded');
  const known = paymentOf(orderCase, paymentId);
  const expectedMinor = known?.status === 'succeeded' ? known.capturedMinor : orderCase.order.totalMinor;
  if (fact.totalMinor === expectedMinor) return decidePayment(orderCase, stated, circumstances);
  const look = circumstances.looks.payment(paymentId);
  if (look.kind === 'unasked') return fetch(paymentReference(paymentId));
  return decidePayment(orderCase, look.kind === 'found' ? look.value : stated, circumstances);
}

/** Nothing was to be paid. Only an order of nothing is paid by that. */
function decideFree(orderCase: OrderCase, { totalMinor }: SessionFact, circumstances: Circumstances): Decision {
  const { order } = orderCase;
  if (isPaid(order.status)) return duplicate(orderCase);
  if (order.status !== 'awaiting_payment') return quarantine('contradiction');
  if (isFrozen(order.holdReason)) return quarantine('order_on_hold');
  if (order.totalMinor !== 0 || totalMinor !== 0) return quarantine('underpaid');
  return applied(withOrder(orderCase, { status: 'paid' }), ...orderPaidMail(circumstances, order));
}

/** Without the session nobody can pay by it; another payment may still be under way. */
function decideExpired(orderCase: OrderCase, fact: SessionFact, { looks }: Circumstances): Decision {
  const { order, payments } = orderCase;
  if (order.status === 'canceled') return duplicate(orderCase);
  if (isPaid(order.status)) return superseded(orderCase);
  const isOther = (paymentId: string): boolean => paymentId !== fact.paymentId;
  if (payments.some((payment) => isOther(payment.paymentId) && isLive(payment))) return superseded(orderCase);
  const { providerPaymentId } = order;
  const isRegisteredElsewhere =
    providerPaymentId !== null && isOther(providerPaymentId) && paymentOf(orderCase, providerPaymentId) === undefined;
  if (isRegisteredElsewhere) return superseded(orderCase);
  const look = looks.session(fact.sessionId);
  if (look.kind === 'unasked') return fetch(sessionReference(fact.sessionId));
  if (look.kind === 'found' && look.value.state !== 'expired') return superseded(orderCase);
  return applied(withOrder(orderCase, { status: 'canceled' }));
}

function asPayment(
  { about, totalMinor, currency }: SessionFact,
  paymentId: string,
  state: 'open' | 'failed' | 'succeeded',
): PaymentFact {
  return {
    kind: 'payment',
    about,
    paymentId,
    chargeId: null,
    state,
    receivedMinor: state === 'succeeded' ? totalMinor : 0,
    capturableMinor: 0,
    currency,
  };
}

import { isPaid, paymentOf, withOrder, type OrderCase, type Payment } from './order-case.js';

/** The first payment that names an order without one is its payment, until another one pays. */
export function bindIfFree(orderCase: OrderCase, paymentId: string): OrderCase {
  const { providerPaymentId, status } = orderCase.order;
  if (providerPaymentId !== null || isPaid(status)) return orderCase;
  return withOrder(orderCase, { providerPaymentId: paymentId });
}

/** The payment as stored, else as it is when nothing but its name is known. */
export function storedOrNew(
  orderCase: OrderCase,
  { paymentId, currency }: { readonly paymentId: string; readonly currency: string },
): Payment {
  const known = paymentOf(orderCase, paymentId);
  if (known !== undefined) return known;
  const { order, payments } = orderCase;
  const isBound = order.providerPaymentId === paymentId && !payments.some(({ role }) => role === 'bound');
  return {
    paymentId,
    chargeId: null,
    role: isBound ? 'bound' : 'candidate',
    status: 'open',
    capturedMinor: 0,
    capturableMinor: 0,
    currency,
    attemptFailed: false,
  };
}

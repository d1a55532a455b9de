import type { OrdersOptions } from '../../src/handlers/orders/index.js';

/** As a configuration that says nothing makes them, with a merchant who is told of refunds that fail. */
export const ORDERS: OrdersOptions = {
  policies: { latePayment: 'refund', secondPayment: 'refund', overpaid: 'quarantine' },
  mails: { orderPaid: true, refundSucceeded: true, refundFailedTo: 'merchant@example.com' },
  ownsOf: () => null,
};

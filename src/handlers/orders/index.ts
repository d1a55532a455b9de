import { defineHandlers, type HandlerSet } from '../../index.js';
import { paymentSucceeded, type OrdersOptions } from './payment-succeeded.js';

export type { OrdersOptions } from './payment-succeeded.js';

/** The built-in `orders` set, over the tables `orders` and `payments`; written against the public API only. */
export function ordersHandlers(options: OrdersOptions): HandlerSet {
  return defineHandlers({ 'payment_intent.succeeded': paymentSucceeded(options) });
}

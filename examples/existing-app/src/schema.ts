import { integer, pgSchema, text } from 'drizzle-orm/pg-core';

/** The shop's orders; see migrations/0001_shop.sql. */
export const orders = pgSchema('shop').table('orders', {
  id: text('id').primaryKey(),
  /** In the smallest unit of the currency. */
  totalMinor: integer('total_minor').notNull(),
  currency: text('currency').notNull(),
  status: text('status', { enum: ['open', 'paid', 'shipped', 'expired'] })
    .notNull()
    .default('open'),
  /** The PaymentIntent that paid it. */
  paymentId: text('payment_id').unique(),
});

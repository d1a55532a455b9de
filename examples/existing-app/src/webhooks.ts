import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import {
  applied,
  defineStripeHandlers,
  duplicate,
  quarantine,
  signalWorkflow,
  wait,
  type WebhookOptions,
} from 'oncehook';
import { orders } from './schema.js';

export const shop = defineStripeHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { metadata, amount_received: received, currency } = event.payload.data.object;
    const db = drizzle(tx);
    const [order] = await db
      .select()
      .from(orders)
      .where(eq(orders.id, metadata.order_id ?? ''))
      .for('update');
    if (order === undefined) return wait('unknown_order');
    if (received !== order.totalMinor || currency !== order.currency) return quarantine('wrong_amount');
    if (order.status !== 'open') return duplicate();
    await db.update(orders).set({ status: 'paid' }).where(eq(orders.id, order.id));
    return applied({ operations: [signalWorkflow({ workflowId: `order:${order.id}`, key: 'paid' }, event)] });
  },
});

export const webhooks: WebhookOptions = {
  config: {
    version: 1,
    sources: { stripe: { kind: 'stripe', secrets: ['${STRIPE_WEBHOOK_SECRET}'], handlers: 'shop' } },
  },
  handlerSets: { shop },
};

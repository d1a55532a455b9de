import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import * as oncehook from 'oncehook';
import { orders } from './schema.js';

export const shop = oncehook.defineStripeHandlers({
  'payment_intent.succeeded': async (event, tx) => {
    const { id: paymentId, metadata, amount_received: received, currency } = event.payload.data.object;
    const [id, db] = [metadata.order_id ?? '', drizzle(tx)];
    const [order] = await db.select().from(orders).where(eq(orders.id, id)).for('update');
    if (order === undefined) return oncehook.wait('unknown_order');
    if (order.paymentId === paymentId) return oncehook.duplicate();
    if (received !== order.totalMinor || currency !== order.currency) return oncehook.quarantine('wrong_amount');
    if (order.status !== 'open') return oncehook.quarantine('order_not_open');
    await db.update(orders).set({ status: 'paid', paymentId }).where(eq(orders.id, id));
    const wake = oncehook.signalWorkflow({ workflowId: `order:${id}`, key: 'paid' }, event);
    return oncehook.applied({ operations: [wake] });
  },
});

const stripe = { kind: 'stripe', secrets: ['${STRIPE_WEBHOOK_SECRET}'], handlers: 'shop' } as const;

export const webhooks: oncehook.WebhookOptions = {
  config: { version: 1, sources: { stripe } },
  handlerSets: { shop },
};

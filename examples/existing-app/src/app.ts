import type { Client } from '@temporalio/client';
import { eq } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import express, { type Express } from 'express';
import type { WebhookReceiver } from 'oncehook';
import { orders } from './schema.js';

/** The task queue of the shop's own workflows. */
export const SHOP_QUEUE = 'shop';

/** The shop as it was before, and one line for its webhooks. */
export function createApp(db: NodePgDatabase, temporal: Client, receiver: WebhookReceiver): Express {
  const app = express();
  app.use(receiver.router); // before any body parser: a signature covers the bytes as they came
  app.use(express.json());
  app.post('/orders', async (req, res) => {
    const { id, totalMinor, currency } = req.body as { id: string; totalMinor: number; currency: string };
    await db.insert(orders).values({ id, totalMinor, currency });
    await temporal.workflow.start('fulfilOrder', { taskQueue: SHOP_QUEUE, workflowId: `order:${id}`, args: [id] });
    res.status(201).json({ id });
  });
  app.get('/orders/:id', async (req, res) => {
    const [order] = await db.select().from(orders).where(eq(orders.id, req.params.id));
    if (order === undefined) res.status(404).json({ error: 'no such order' });
    else res.json(order);
  });
  return app;
}

import { and, eq } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { orders } from './schema.js';

export interface ShopActivities {
  shipOrder(orderId: string): Promise<void>;
  /** @returns false when it was paid in time. */
  expireOrder(orderId: string): Promise<boolean>;
}

export function shopActivities(db: NodePgDatabase): ShopActivities {
  const move = async (orderId: string, from: 'open' | 'paid', to: 'shipped' | 'expired'): Promise<void> => {
    await db
      .update(orders)
      .set({ status: to })
      .where(and(eq(orders.id, orderId), eq(orders.status, from)));
  };
  return {
    shipOrder: (orderId) => move(orderId, 'paid', 'shipped'),
    expireOrder: async (orderId) => {
      await move(orderId, 'open', 'expired');
      const [order] = await db.select().from(orders).where(eq(orders.id, orderId));
      return order?.status === 'expired';
    },
  };
}

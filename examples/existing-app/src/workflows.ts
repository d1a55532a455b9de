import { proxyActivities } from '@temporalio/workflow';
import { awaitWebhook } from 'oncehook/workflows';
import type { ShopActivities } from './activities.js';

const { expireOrder, shipOrder } = proxyActivities<ShopActivities>({ startToCloseTimeout: '30 seconds' });

/** Ships an order once it is paid, whichever comes first, the payment or this workflow. */
export async function fulfilOrder(orderId: string): Promise<'shipped' | 'expired'> {
  const paid = await awaitWebhook('paid', '7 days');
  if (paid === undefined && (await expireOrder(orderId))) return 'expired';
  await shipOrder(orderId);
  return 'shipped';
}

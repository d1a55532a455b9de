import { proxyActivities } from '@temporalio/workflow';
import { awaitWebhook } from '../../workflows/index.js';
import type * as activities from './own-activities-sample.js';

const { shipOrder, cancelOrder } = proxyActivities<typeof activities>({ startToCloseTimeout: '1 minute' });

export async function fulfilOrder(order: string): Promise<string> {
  const payment = await awaitWebhook(`payment:${order}`, '2 days');
  if (payment === undefined) {
    await cancelOrder(order);
    return 'canceled';
  }
  await shipOrder(order, payment.eventId);
  return 'shipped';
}

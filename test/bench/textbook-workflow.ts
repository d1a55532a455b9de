import { proxyActivities } from '@temporalio/workflow';

interface TextbookActivities {
  payOrder(orderId: string): Promise<void>;
  sendMail(orderId: string): Promise<void>;
}

const { payOrder, sendMail } = proxyActivities<TextbookActivities>({ startToCloseTimeout: '15 seconds' });

/** What a tutorial would write: pay, then mail. No inbox, no guard, no key. */
export async function textbook(orderId: string): Promise<void> {
  await payOrder(orderId);
  await sendMail(orderId);
}

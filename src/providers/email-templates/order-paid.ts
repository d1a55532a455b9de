import { htmlOf, visible, type MailContent } from './template.js';

export interface OrderPaid {
  readonly orderId: string;
  /** As people read it, with its currency. */
  readonly amount: string;
}

export function orderPaid({ orderId, amount }: OrderPaid): MailContent {
  const order = visible(orderId);
  const subject = `Order ${order}: payment received`;
  const paragraphs = ['Thank you for your order.', `We have received your payment of ${amount} for order ${order}.`];
  return { subject, text: `${paragraphs.join('\n\n')}\n`, html: htmlOf(subject, paragraphs) };
}

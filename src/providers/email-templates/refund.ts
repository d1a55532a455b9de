import { htmlOf, visible, type MailContent } from './template.js';

export interface RefundMail {
  readonly orderId: string;
  /** The provider's ID of the refund. */
  readonly refundId: string;
  /** As people read it, with its currency. */
  readonly amount: string;
}

/** To the customer. */
export function refundSucceeded({ orderId, amount }: RefundMail): MailContent {
  const order = visible(orderId);
  const subject = `Order ${order}: refund`;
  const paragraphs = [
    `We have refunded ${amount} for order ${order}.`,
    'Depending on your bank, it takes a few days until the money is in your account.',
  ];
  return { subject, text: `${paragraphs.join('\n\n')}\n`, html: htmlOf(subject, paragraphs) };
}

/** To the merchant: the customer does not have the money, and nothing is sent again by itself. */
export function refundFailed({ orderId, refundId, amount }: RefundMail): MailContent {
  const order = visible(orderId);
  const subject = `Order ${order}: a refund of ${amount} failed`;
  const paragraphs = [
    `The refund ${visible(refundId)} of ${amount} for order ${order} failed: the customer does not have the money.`,
    'It is not tried again by itself. Look at the refund in the Dashboard of your payment provider, and pay the customer in another way or ask for another refund.',
  ];
  return { subject, text: `${paragraphs.join('\n\n')}\n`, html: htmlOf(subject, paragraphs) };
}

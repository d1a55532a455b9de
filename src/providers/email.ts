import { z } from 'zod';
import { formatMinor, type AnyOperationDefinition } from '../api/index.js';
import { orderPaid, type OrderPaid } from './email-templates/order-paid.js';
import { refundFailed, refundSucceeded, type RefundMail } from './email-templates/refund.js';
import type { MailContent } from './email-templates/template.js';
import { mailOperation, type EmailPolicy } from './mail-operation.js';
import type { MailTransport } from './smtp-transport.js';

/** The kinds of mail that configuration knows, by their names there. */
export type EmailKind = 'orderPaid' | 'refundSucceeded' | 'refundFailed';

/**
 * What each kind of mail says; any of them may be replaced by one's own. A template gets amounts as people read them and
 * IDs as they came, and must give the same content for the same facts: it runs once per mail. What it puts into HTML it
 * has to escape, and line breaks in a subject are taken out.
 */
export interface EmailTemplates {
  readonly orderPaid: (facts: OrderPaid) => MailContent;
  readonly refundSucceeded: (facts: RefundMail) => MailContent;
  readonly refundFailed: (facts: RefundMail) => MailContent;
}

export interface EmailOptions {
  /** Lower snake case. `email` by default, which takes the place of the built-in kind. */
  readonly kind?: string;
  /** `createSmtpTransport(url)`, or one of your own. */
  readonly transport: MailTransport;
  /** `shop@example.com` or `The Shop <shop@example.com>`. */
  readonly from: string;
  /** By kind of mail; `resend` for those that are not named. */
  readonly policies?: Partial<Readonly<Record<EmailKind, EmailPolicy>>>;
  /** One's own templates in the place of the built-in ones. */
  readonly templates?: Partial<EmailTemplates>;
  /** How long attempts are repeated, in milliseconds since the first; 3 days by default. */
  readonly giveUpAfterMs?: number;
}

const facts = {
  // Checked as an address only when the mail is made: a bad one must not undo the payment that it would report.
  to: z.string(),
  orderId: z.string().min(1),
  amountMinor: z.union([z.string().regex(/^\d{1,20}$/), z.int().nonnegative()]),
  currency: z.string().regex(/^[a-z]{3}$/),
};
const refundId = z.string().min(1);

const emailParams = z.discriminatedUnion('template', [
  z.object({ template: z.literal('order_paid'), ...facts }),
  z.object({ template: z.literal('refund_succeeded'), refundId, ...facts }),
  z.object({ template: z.literal('refund_failed'), refundId, ...facts }),
]);

/** What a handler gives for an operation of kind `email`, or of one's own made with `emailOperation`. */
export type EmailParams = z.infer<typeof emailParams>;

const KINDS: Readonly<Record<EmailParams['template'], EmailKind>> = {
  order_paid: 'orderPaid',
  refund_succeeded: 'refundSucceeded',
  refund_failed: 'refundFailed',
};

const BUILT_IN: EmailTemplates = { orderPaid, refundSucceeded, refundFailed };

/**
 * The mails that come with oncehook (an order was paid, a refund succeeded or failed), with a transport, a sender and
 * templates of one's own; for mails about anything else there is `mailOperation`.
 * @throws TypeError when `from` is not one plain address, with or without a name, or the kind's name is malformed.
 */
export function emailOperation(options: EmailOptions): AnyOperationDefinition {
  const { kind = 'email', transport, from, policies = {}, giveUpAfterMs } = options;
  const templates = { ...BUILT_IN, ...options.templates };
  return mailOperation<EmailParams>({
    kind,
    params: emailParams,
    transport,
    from,
    to: ({ to }) => to,
    content: (params) => render(params, templates),
    policy: ({ template }) => policies[KINDS[template]] ?? 'resend',
    ...(giveUpAfterMs === undefined ? {} : { giveUpAfterMs }),
  });
}

function render(params: EmailParams, templates: EmailTemplates): MailContent {
  const { orderId } = params;
  const amount = formatMinor(BigInt(params.amountMinor), params.currency);
  switch (params.template) {
    case 'order_paid':
      return templates.orderPaid({ orderId, amount });
    case 'refund_succeeded':
      return templates.refundSucceeded({ orderId, amount, refundId: params.refundId });
    case 'refund_failed':
      return templates.refundFailed({ orderId, amount, refundId: params.refundId });
  }
}

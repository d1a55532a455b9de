import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  defineOperation,
  formatMinor,
  type AnyOperationDefinition,
  type OperationAnswer,
  type OperationContext,
  type PreparedMessage,
} from '../api/index.js';
import { isPlainAddress, parseMailbox, type Mailbox } from './email-address.js';
import { buildMessage } from './email-message.js';
import { orderPaid, type OrderPaid } from './email-templates/order-paid.js';
import { refundFailed, refundSucceeded, type RefundMail } from './email-templates/refund.js';
import { visible, type MailContent } from './email-templates/template.js';
import { answerTo } from './smtp-answer.js';
import type { MailTransport } from './smtp-transport.js';

/**
 * Plain SMTP can neither be asked for a message nor told that it is the same one, so when an answer is lost a kind of
 * mail is either sent again (`resend`: at least once, under one Message-ID) or kept for an operator (`hold`: at most
 * once). `off`: not sent at all.
 */
export type EmailPolicy = 'resend' | 'hold' | 'off';

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
  readonly transport: MailTransport;
  /** `shop@example.com` or `The Shop <shop@example.com>`. */
  readonly from: string;
  readonly policies: Readonly<Record<EmailKind, EmailPolicy>>;
  /** One's own templates in the place of the built-in ones. */
  readonly templates?: Partial<EmailTemplates>;
  /** How long attempts are repeated, in milliseconds since the first. */
  readonly giveUpAfterMs: number;
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

/** What a handler gives for an operation of kind `email`. */
export type EmailParams = z.infer<typeof emailParams>;

const KINDS: Readonly<Record<EmailParams['template'], EmailKind>> = {
  order_paid: 'orderPaid',
  refund_succeeded: 'refundSucceeded',
  refund_failed: 'refundFailed',
};

const BUILT_IN: EmailTemplates = { orderPaid, refundSucceeded, refundFailed };

/** There can be no such mail, however often it is tried. */
class MailRefusedError extends Error {
  constructor(readonly code: string) {
    super(`The mail cannot be made: ${code}`);
    this.name = 'MailRefusedError';
  }
}

/**
 * Mail over SMTP, made with nothing but the public API. The message is built once and stored, and every attempt sends
 * those bytes under one Message-ID.
 * @throws TypeError when `from` is not one plain address, with or without a name.
 */
export function emailOperation(options: EmailOptions): AnyOperationDefinition {
  const { transport, policies, giveUpAfterMs } = options;
  const from = parseMailbox(options.from);
  const templates = { ...BUILT_IN, ...options.templates };
  const policyOf = (params: EmailParams): EmailPolicy => policies[KINDS[params.template]];
  return defineOperation<EmailParams>({
    kind: 'email',
    params: emailParams,
    enabled: (params) => policyOf(params) !== 'off',
    prepare: (context) => prepare(context, from, templates),
    perform: async ({ message, params, signal }) => {
      if (message === null) return { kind: 'park', code: 'message_missing' };
      return answerTo(await transport.send({ from: from.address, to: params.to, bytes: message.bytes, signal }));
    },
    classify,
    onUnknown: (params) => (policyOf(params) === 'resend' ? 'resend' : 'hold'),
    giveUpAfterMs,
  });
}

async function prepare(
  context: OperationContext<EmailParams>,
  from: Mailbox,
  templates: EmailTemplates,
): Promise<PreparedMessage> {
  const { operationKey, params, createdAt } = context;
  if (!isPlainAddress(params.to)) throw new MailRefusedError('invalid_recipient');
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  const messageId = `${createHash('sha256').update(operationKey).digest('hex').slice(0, 40)}@${domain}`;
  const content = render(params, templates);
  const bytes = await buildMessage({ from, to: params.to, content, date: createdAt, messageId });
  return { bytes, messageId: `<${messageId}>` };
}

function render(params: EmailParams, templates: EmailTemplates): MailContent {
  const { orderId } = params;
  const amount = formatMinor(BigInt(params.amountMinor), params.currency);
  const content = ((): MailContent => {
    switch (params.template) {
      case 'order_paid':
        return templates.orderPaid({ orderId, amount });
      case 'refund_succeeded':
        return templates.refundSucceeded({ orderId, amount, refundId: params.refundId });
      case 'refund_failed':
        return templates.refundFailed({ orderId, amount, refundId: params.refundId });
    }
  })();
  // Whoever wrote the template: a subject is one line, and one of our own headers at that.
  return { ...content, subject: visible(content.subject) };
}

/** The transport answers instead of throwing, so what arrives here is a refusal of our own or a fault of this code. */
function classify(error: unknown): OperationAnswer {
  if (error instanceof MailRefusedError) return { kind: 'refused', code: error.code };
  return { kind: 'unknown', code: 'unexpected_error' };
}

import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  defineOperation,
  formatMinor,
  type AnyOperationDefinition,
  type OperationAnswer,
  type OperationContext,
  type PreparedMessage,
} from '../index.js';
import { isPlainAddress, parseMailbox, type Mailbox } from './email-address.js';
import { buildMessage } from './email-message.js';
import { orderPaid } from './email-templates/order-paid.js';
import type { MailContent } from './email-templates/template.js';
import { answerTo } from './smtp-answer.js';
import type { MailTransport } from './smtp-transport.js';

/**
 * Plain SMTP can neither be asked for a message nor told that it is the same one, so when an answer is lost a kind of
 * mail is either sent again (`resend`: at least once, under one Message-ID) or kept for an operator (`hold`: at most
 * once). `off`: not sent at all.
 */
export type EmailPolicy = 'resend' | 'hold' | 'off';

/** The kinds of mail that configuration knows, by their names there. */
export type EmailKind = 'orderPaid';

export interface EmailOptions {
  readonly transport: MailTransport;
  /** `shop@example.com` or `The Shop <shop@example.com>`. */
  readonly from: string;
  readonly policies: Readonly<Record<EmailKind, EmailPolicy>>;
  /** How long attempts are repeated, in milliseconds since the first. */
  readonly giveUpAfterMs: number;
}

const emailParams = z.object({
  template: z.enum(['order_paid']),
  // Checked as an address only when the mail is made: a bad one must not undo the payment that it would report.
  to: z.string(),
  orderId: z.string().min(1),
  amountMinor: z.union([z.string().regex(/^\d{1,20}$/), z.int().nonnegative()]),
  currency: z.string().regex(/^[a-z]{3}$/),
});

/** What a handler gives for an operation of kind `email`. */
export type EmailParams = z.infer<typeof emailParams>;

interface Template {
  readonly kind: EmailKind;
  readonly render: (params: EmailParams, amount: string) => MailContent;
}

const TEMPLATES: Readonly<Record<EmailParams['template'], Template>> = {
  order_paid: { kind: 'orderPaid', render: ({ orderId }, amount) => orderPaid({ orderId, amount }) },
};

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
  const policyOf = (params: EmailParams): EmailPolicy => policies[TEMPLATES[params.template].kind];
  return defineOperation<EmailParams>({
    kind: 'email',
    params: emailParams,
    enabled: (params) => policyOf(params) !== 'off',
    prepare: (context) => prepare(context, from),
    perform: async ({ message, params, signal }) => {
      if (message === null) return { kind: 'park', code: 'message_missing' };
      return answerTo(await transport.send({ from: from.address, to: params.to, bytes: message.bytes, signal }));
    },
    classify,
    onUnknown: (params) => (policyOf(params) === 'resend' ? 'resend' : 'hold'),
    giveUpAfterMs,
  });
}

async function prepare(context: OperationContext<EmailParams>, from: Mailbox): Promise<PreparedMessage> {
  const { operationKey, params, createdAt } = context;
  if (!isPlainAddress(params.to)) throw new MailRefusedError('invalid_recipient');
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  const messageId = `${createHash('sha256').update(operationKey).digest('hex').slice(0, 40)}@${domain}`;
  const amount = formatMinor(BigInt(params.amountMinor), params.currency);
  const content = TEMPLATES[params.template].render(params, amount);
  const bytes = await buildMessage({ from, to: params.to, content, date: createdAt, messageId });
  return { bytes, messageId: `<${messageId}>` };
}

/** The transport answers instead of throwing, so what arrives here is a refusal of our own or a fault of this code. */
function classify(error: unknown): OperationAnswer {
  if (error instanceof MailRefusedError) return { kind: 'refused', code: error.code };
  return { kind: 'unknown', code: 'unexpected_error' };
}

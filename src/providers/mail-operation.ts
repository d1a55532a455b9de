import { createHash } from 'node:crypto';
import {
  defineOperation,
  type AnyOperationDefinition,
  type OperationAnswer,
  type OperationContext,
  type ParamsSchema,
  type PreparedMessage,
} from '../api/index.js';
import { isPlainAddress, parseMailbox, type Mailbox } from './email-address.js';
import { buildMessage } from './email-message.js';
import { visible, type MailContent } from './email-templates/template.js';
import { GIVE_UP_MS } from './give-up.js';
import { answerTo } from './smtp-answer.js';
import type { MailTransport } from './smtp-transport.js';

/**
 * Plain SMTP can neither be asked for a message nor told that it is the same one, so when an answer is lost a kind of
 * mail is either sent again (`resend`: at least once, under one Message-ID) or kept for an operator (`hold`: at most
 * once). `off`: not sent at all.
 */
export type EmailPolicy = 'resend' | 'hold' | 'off';

export interface MailOperationOptions<Params> {
  /** Lower snake case. */
  readonly kind: string;
  /** What a handler gives. Let it take any text as an address: a customer's bad one must not undo the business change. */
  readonly params: ParamsSchema<Params>;
  /** `createSmtpTransport(url)`, or one of your own. */
  readonly transport: MailTransport;
  /** `shop@example.com` or `The Shop <shop@example.com>`. */
  readonly from: string;
  /** The one recipient. What is not exactly one plain address is refused as `invalid_recipient`, and nothing is sent. */
  readonly to: (params: Params) => string;
  /**
   * What the mail says; asked once per mail, and its answer is stored and sent. Must not call out. What it puts into
   * HTML it has to escape; line breaks in a subject are taken out. One that throws parks the mail as `prepare_failed`.
   */
  readonly content: (params: Params) => MailContent;
  /** `resend` by default. */
  readonly policy?: EmailPolicy | ((params: Params) => EmailPolicy);
  /** How long attempts are repeated, in milliseconds since the first; 3 days by default. */
  readonly giveUpAfterMs?: number;
}

/** There can be no such mail, however often it is tried. */
class MailRefusedError extends Error {
  constructor(readonly code: string) {
    super(`The mail cannot be made: ${code}`);
    this.name = 'MailRefusedError';
  }
}

/**
 * A kind of mail over SMTP, made with nothing but the public API. The message is built once and stored, and every
 * attempt sends those bytes under one Message-ID. What the server's answers mean: docs/effects.md, "Email".
 * @throws TypeError when `from` is not one plain address, with or without a name, or the kind's name is malformed.
 */
export function mailOperation<Params>(options: MailOperationOptions<Params>): AnyOperationDefinition {
  const { kind, params, transport, to, content, policy = 'resend', giveUpAfterMs = GIVE_UP_MS } = options;
  const from = parseMailbox(options.from);
  const policyOf = (given: Params): EmailPolicy => (typeof policy === 'function' ? policy(given) : policy);
  return defineOperation<Params>({
    kind,
    params,
    enabled: (given) => policyOf(given) !== 'off',
    prepare: (context) => prepare(context, from, to(context.params), () => content(context.params)),
    perform: async ({ message, params: given, signal }) => {
      if (message === null) return { kind: 'park', code: 'message_missing' };
      return answerTo(await transport.send({ from: from.address, to: to(given), bytes: message.bytes, signal }));
    },
    classify,
    onUnknown: (given) => (policyOf(given) === 'resend' ? 'resend' : 'hold'),
    giveUpAfterMs,
  });
}

async function prepare(
  { operationKey, createdAt }: OperationContext<unknown>,
  from: Mailbox,
  to: string,
  contentOf: () => MailContent,
): Promise<PreparedMessage> {
  if (!isPlainAddress(to)) throw new MailRefusedError('invalid_recipient');
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  const messageId = `${createHash('sha256').update(operationKey).digest('hex').slice(0, 40)}@${domain}`;
  const content = contentOf();
  // Whoever wrote it: a subject is one line, and one of our own headers at that.
  const safe = { ...content, subject: visible(content.subject) };
  const bytes = await buildMessage({ from, to, content: safe, date: createdAt, messageId });
  return { bytes, messageId: `<${messageId}>` };
}

/** The transport answers instead of throwing, so what arrives here is a refusal of our own or a fault of this code. */
function classify(error: unknown): OperationAnswer {
  if (error instanceof MailRefusedError) return { kind: 'refused', code: error.code };
  return { kind: 'unknown', code: 'unexpected_error' };
}

import MailComposer from 'nodemailer/lib/mail-composer';
import type { Mailbox } from './email-address.js';
import type { MailContent } from './email-templates/template.js';

export interface MessageParts {
  readonly from: Mailbox;
  /** A plain address, checked before. */
  readonly to: string;
  readonly content: MailContent;
  readonly date: Date;
  /** Without its angle brackets. */
  readonly messageId: string;
}

/**
 * The exact MIME bytes of a mail. The same parts give the same bytes: the boundary, which nodemailer draws at random,
 * is derived from the Message-ID.
 */
export function buildMessage({ from, to, content, date, messageId }: MessageParts): Promise<Buffer> {
  const composer = new MailComposer({
    // Objects, so that nothing parses an address again.
    from: { name: from.name, address: from.address },
    to: { name: '', address: to },
    subject: content.subject,
    text: withCrlf(content.text),
    html: withCrlf(content.html),
    date,
    messageId: `<${messageId}>`,
    // RFC 3834: keeps holiday notices from answering.
    headers: { 'Auto-Submitted': 'auto-generated' },
    baseBoundary: messageId.slice(0, 40),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

/** Line ends as SMTP wants them, so that the stored bytes are those on the wire. */
function withCrlf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}

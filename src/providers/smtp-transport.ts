import { Readable } from 'node:stream';
import SMTPConnection, { type SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection';
import { parseSmtpUrl, type SmtpSettings } from './smtp-url.js';

/** One message for one recipient. */
export interface Mail {
  readonly from: string;
  readonly to: string;
  /** The exact MIME; sent as it is, save what SMTP itself asks for (line ends, dots). */
  readonly bytes: Buffer;
  readonly signal: AbortSignal;
}

/**
 * How far a session had come. Up to `content` the server cannot have accepted the message: it does so only after the
 * final dot (RFC 5321, 4.1.1.4), and that is written in `ended`.
 */
export type SmtpPhase = 'connecting' | 'logging_in' | 'envelope' | 'content' | 'ended';

export type MailResult =
  | { readonly kind: 'accepted' }
  | {
      readonly kind: 'failed';
      readonly phase: SmtpPhase;
      /** Of nodemailer (`ETIMEDOUT`, `EAUTH`, ...), or `ABORTED`, `NO_TLS`, `NO_AUTH`, `CLOSED` of ours. */
      readonly errorCode: string;
      /** The server's complete reply to the command at hand; `null` when it gave none. */
      readonly replyCode: number | null;
    };

export interface MailTransport {
  /** Makes one attempt over a connection of its own. Resolves whatever happens, soon after an abort too. */
  readonly send: (mail: Mail) => Promise<MailResult>;
}

/** In milliseconds, each below an attempt's 10 s, so that the session itself says what went wrong. */
const SETUP_TIMEOUT_MS = 6_000;
const DNS_TIMEOUT_MS = 4_000;
const SILENCE_TIMEOUT_MS = 9_000;

/** Node's names for refused certificates and broken handshakes (nodejs.org/api/tls.html, X509 certificate error codes). */
const TLS_CODE = /CERT|CRL|_SIGNATURE$|^ERR_(?:TLS|SSL)|^HOSTNAME_MISMATCH$|^INVALID_(?:CA|PURPOSE)$/;

/** How much of a message is handed over at a time, in bytes. */
const CHUNK_BYTES = 16_384;

/** nodemailer's errors as far as they are used: its messages quote the server and go nowhere. */
interface SessionError {
  readonly code?: string | undefined;
  /** The system's, when nodemailer put its own in `code`. */
  readonly originalCode?: string | undefined;
  readonly command?: string | undefined;
  readonly responseCode?: number | undefined;
}

/**
 * Hands mail to the server of `smtpUrl` (see `parseSmtpUrl`). Drives nodemailer's connection class itself: its
 * transport does the same without telling how far it came, and then a lost connection cannot be told from a lost
 * answer. Nothing here tries twice: one call is one session with one message.
 * @throws ConfigError when the URL cannot be used.
 */
export function createSmtpTransport(smtpUrl: string): MailTransport {
  const settings = parseSmtpUrl(smtpUrl);
  return { send: (mail) => runSession(settings, mail) };
}

function runSession(settings: SmtpSettings, mail: Mail): Promise<MailResult> {
  return new Promise((resolve) => {
    const connection = new SMTPConnection(connectionOptions(settings));
    let phase: SmtpPhase = 'connecting';
    let finished = false;

    const finish = (result: MailResult): void => {
      if (finished) return;
      finished = true;
      mail.signal.removeEventListener('abort', abort);
      connection.close();
      resolve(result);
    };
    const fail = (error: SessionError): void => {
      finish({ kind: 'failed', phase, errorCode: codeOf(error), replyCode: replyTo(phase, error) });
    };
    const abort = (): void => {
      fail({ code: 'ABORTED' });
    };
    const sendMessage = (): void => {
      phase = 'envelope';
      const content = contentOf(mail.bytes, (next) => {
        phase = next;
      });
      const envelope = { from: mail.from, to: [mail.to], size: mail.bytes.length };
      connection.send(envelope, content, (error) => {
        if (error !== null) fail(error);
        else if (phase === 'ended') finish({ kind: 'accepted' });
        // A server that accepts before the final dot has accepted something, but hardly this message.
        else finish({ kind: 'failed', phase: 'ended', errorCode: 'EPROTOCOL', replyCode: null });
      });
    };
    const logIn = (): void => {
      phase = 'logging_in';
      if (settings.tls !== 'offered' && !connection.secure) fail({ code: 'NO_TLS' });
      else if (settings.auth === undefined) sendMessage();
      else if (!connection.allowsAuth) fail({ code: 'NO_AUTH' });
      else {
        connection.login({ ...settings.auth }, (error) => {
          if (error === null) sendMessage();
          else fail(error);
        });
      }
    };

    // Stays on for good: an error after the end must find a listener, or it would end the process.
    connection.on('error', fail);
    connection.once('end', () => {
      fail({ code: 'CLOSED' });
    });
    mail.signal.addEventListener('abort', abort, { once: true });
    if (mail.signal.aborted) abort();
    else {
      connection.connect((error) => {
        if (error === undefined) logIn();
        else fail(error);
      });
    }
  });
}

function connectionOptions(settings: SmtpSettings): SMTPConnectionOptions {
  const { host, port, tls, rejectUnauthorized, servername, name } = settings;
  return {
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'required',
    tls: { rejectUnauthorized, ...(servername === undefined ? {} : { servername }) },
    name,
    connectionTimeout: SETUP_TIMEOUT_MS,
    greetingTimeout: SETUP_TIMEOUT_MS,
    dnsTimeout: DNS_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    socketCloseTimeout: 1_000,
  };
}

/**
 * The message as a stream that tells how far it was taken: nodemailer begins to read it when the server has said 354,
 * and writes the final dot after its end. This listener for the end comes before nodemailer's.
 */
function contentOf(bytes: Buffer, reach: (phase: 'content' | 'ended') => void): Readable {
  let offset = 0;
  const content = new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      reach('content');
      const chunk = bytes.subarray(offset, offset + CHUNK_BYTES);
      offset += chunk.length;
      this.push(chunk.length === 0 ? null : chunk);
    },
  });
  return content.once('end', () => {
    reach('ended');
  });
}

/** nodemailer reports a certificate that is not trusted as trouble with the socket; it is an operator's matter. */
function codeOf({ code, originalCode }: SessionError): string {
  return code === 'ESOCKET' && TLS_CODE.test(originalCode ?? '') ? 'ETLS' : (code ?? 'UNNAMED');
}

/**
 * The server's reply, if this error is one to the command at hand. After the final dot only the reply to DATA counts:
 * a line torn by a closing connection, or one out of order, proves nothing about the message.
 */
function replyTo(phase: SmtpPhase, { code, command, responseCode }: SessionError): number | null {
  if (responseCode === undefined) return null;
  return phase !== 'ended' || (code === 'EMESSAGE' && command === 'DATA') ? responseCode : null;
}

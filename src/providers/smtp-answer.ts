import type { OperationAnswer } from '../api/index.js';
import type { MailResult } from './smtp-transport.js';

type Failure = Extract<MailResult, { kind: 'failed' }>;

/** Replies that ask for a login, or for TLS before one (RFC 4954, section 6): an operator's matter, not the message's. */
const WANTS_LOGIN = new Set([530, 534, 535, 538]);
/** "Bad sequence of commands": about the session, so the same message may do in another. */
const WRONG_STATE = 503;

/** Our names for what nodemailer and the transport call the troubles of a session. */
const CODES: ReadonlyMap<string, string> = new Map([
  ['ABORTED', 'deadline'],
  ['CLOSED', 'smtp_closed'],
  ['ECONNECTION', 'smtp_closed'],
  ['EDNS', 'smtp_dns'],
  ['EPROTOCOL', 'smtp_protocol'],
  ['ESOCKET', 'smtp_connection'],
  ['ETIMEDOUT', 'smtp_timeout'],
]);

/**
 * What a session's end says about the message. A reply decides; without one it is the phase: before the final dot a
 * server cannot have accepted the message, after it nobody here can know.
 */
export function answerTo(result: MailResult): OperationAnswer {
  if (result.kind === 'accepted') return { kind: 'confirmed' };
  switch (result.phase) {
    case 'connecting':
      return beforeMessage(result, 'smtp_tls', ['ETLS']);
    case 'logging_in':
      return result.errorCode === 'NO_TLS'
        ? misconfigured('smtp_tls')
        : beforeMessage(result, 'smtp_auth', ['EAUTH', 'NO_AUTH']);
    case 'envelope':
    case 'content':
      return result.replyCode === null ? withoutReply(result) : answerToReply(result.replyCode);
    case 'ended':
      return result.replyCode === null ? { kind: 'unknown', code: codeOf(result) } : answerToReply(result.replyCode);
  }
}

/** The server has not seen anything of the message yet, so its refusals are not about it. */
function beforeMessage(failure: Failure, code: string, misconfigurations: readonly string[]): OperationAnswer {
  const { errorCode, replyCode } = failure;
  const isTemporary = replyCode !== null && replyCode < 500;
  if (misconfigurations.includes(errorCode) && !isTemporary) return misconfigured(code);
  return { kind: 'notSent', code: replyCode === null ? codeOf(failure) : `smtp_${replyCode}` };
}

/** nodemailer itself refuses an address that could break a command, and a size over the server's limit. */
function withoutReply(failure: Failure): OperationAnswer {
  if (failure.errorCode === 'EENVELOPE') return { kind: 'refused', code: 'invalid_address' };
  if (failure.errorCode === 'EMESSAGE') return { kind: 'refused', code: 'message_too_large' };
  return { kind: 'notSent', code: codeOf(failure) };
}

function answerToReply(replyCode: number): OperationAnswer {
  const code = `smtp_${replyCode}`;
  if (WANTS_LOGIN.has(replyCode)) return misconfigured('smtp_auth');
  const isFinal = replyCode >= 500 && replyCode < 600 && replyCode !== WRONG_STATE;
  return isFinal ? { kind: 'refused', code } : { kind: 'notSent', code };
}

function misconfigured(code: string): OperationAnswer {
  return { kind: 'notSent', code, configuration: true };
}

function codeOf({ errorCode }: Failure): string {
  return CODES.get(errorCode) ?? 'smtp_error';
}

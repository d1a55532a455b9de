import { describe, expect, test } from 'vitest';
import { answerTo } from '../../src/providers/smtp-answer.js';
import type { SmtpPhase } from '../../src/providers/smtp-transport.js';

describe('what the end of an SMTP session says about the message', () => {
  test('accepted', () => {
    expect(answerTo({ kind: 'accepted' })).toEqual({ kind: 'confirmed' });
  });

  test.each<[SmtpPhase, string, number | null, object]>([
    // Before the server has seen anything of the message its refusals are about us.
    ['connecting', 'ESOCKET', null, { kind: 'notSent', code: 'smtp_connection' }],
    ['connecting', 'ETIMEDOUT', null, { kind: 'notSent', code: 'smtp_timeout' }],
    ['connecting', 'EDNS', null, { kind: 'notSent', code: 'smtp_dns' }],
    ['connecting', 'ECONNECTION', null, { kind: 'notSent', code: 'smtp_closed' }],
    ['connecting', 'EPROTOCOL', 421, { kind: 'notSent', code: 'smtp_421' }],
    ['connecting', 'EPROTOCOL', 554, { kind: 'notSent', code: 'smtp_554' }],
    ['connecting', 'ETLS', null, { kind: 'notSent', code: 'smtp_tls', configuration: true }],
    ['connecting', 'ETLS', 502, { kind: 'notSent', code: 'smtp_tls', configuration: true }],
    ['connecting', 'ETLS', 454, { kind: 'notSent', code: 'smtp_454' }],
    ['logging_in', 'EAUTH', 535, { kind: 'notSent', code: 'smtp_auth', configuration: true }],
    ['logging_in', 'EAUTH', 454, { kind: 'notSent', code: 'smtp_454' }],
    ['logging_in', 'NO_AUTH', null, { kind: 'notSent', code: 'smtp_auth', configuration: true }],
    ['logging_in', 'NO_TLS', null, { kind: 'notSent', code: 'smtp_tls', configuration: true }],
    ['logging_in', 'ECONNECTION', null, { kind: 'notSent', code: 'smtp_closed' }],
    // The envelope: replies decide, silence does not matter.
    ['envelope', 'EENVELOPE', 450, { kind: 'notSent', code: 'smtp_450' }],
    ['envelope', 'EENVELOPE', 550, { kind: 'refused', code: 'smtp_550' }],
    ['envelope', 'EENVELOPE', 503, { kind: 'notSent', code: 'smtp_503' }],
    ['envelope', 'EENVELOPE', 530, { kind: 'notSent', code: 'smtp_auth', configuration: true }],
    ['envelope', 'EENVELOPE', null, { kind: 'refused', code: 'invalid_address' }],
    ['envelope', 'EMESSAGE', null, { kind: 'refused', code: 'message_too_large' }],
    ['envelope', 'ECONNECTION', null, { kind: 'notSent', code: 'smtp_closed' }],
    ['envelope', 'ABORTED', null, { kind: 'notSent', code: 'deadline' }],
    // Content without its final dot is not a message.
    ['content', 'ECONNECTION', null, { kind: 'notSent', code: 'smtp_closed' }],
    ['content', 'EMESSAGE', 552, { kind: 'refused', code: 'smtp_552' }],
    ['content', 'ABORTED', null, { kind: 'notSent', code: 'deadline' }],
    // After the dot only a reply is an answer.
    ['ended', 'EMESSAGE', 451, { kind: 'notSent', code: 'smtp_451' }],
    ['ended', 'EMESSAGE', 421, { kind: 'notSent', code: 'smtp_421' }],
    ['ended', 'EMESSAGE', 554, { kind: 'refused', code: 'smtp_554' }],
    ['ended', 'ECONNECTION', null, { kind: 'unknown', code: 'smtp_closed' }],
    ['ended', 'ESOCKET', null, { kind: 'unknown', code: 'smtp_connection' }],
    ['ended', 'ETIMEDOUT', null, { kind: 'unknown', code: 'smtp_timeout' }],
    ['ended', 'EPROTOCOL', null, { kind: 'unknown', code: 'smtp_protocol' }],
    ['ended', 'ABORTED', null, { kind: 'unknown', code: 'deadline' }],
    ['ended', 'SOMETHING_NEW', null, { kind: 'unknown', code: 'smtp_error' }],
  ])('%s, %s, %s', (phase, errorCode, replyCode, answer) => {
    expect(answerTo({ kind: 'failed', phase, errorCode, replyCode })).toEqual(answer);
  });
});

import { describe, expect, it } from 'vitest';
import { answerTo } from '../../src/providers/http-answer.js';
import type { HttpPhase, HttpResult } from '../../src/providers/http-request.js';

const NOW = Date.parse('2026-03-01T09:00:00Z');

const status = (code: number, retryAfter: string | null = null): HttpResult => {
  return { kind: 'answered', status: code, retryAfter };
};
const failure = (phase: HttpPhase, errorCode: string): HttpResult => ({ kind: 'failed', phase, errorCode });

describe('a status', () => {
  it.each([200, 201, 202, 204, 299])('%i confirms', (code) => {
    expect(answerTo(status(code), NOW)).toEqual({ kind: 'confirmed' });
  });

  it.each([400, 402, 404, 405, 406, 409, 410, 412, 413, 415, 418, 422, 451, 499])('%i is a refusal', (code) => {
    expect(answerTo(status(code), NOW)).toEqual({ kind: 'refused', code: `http_${code}` });
  });

  it.each([408, 425, 429])('%i asks for another time', (code) => {
    expect(answerTo(status(code), NOW)).toEqual({ kind: 'notSent', code: `http_${code}` });
  });

  it.each([401, 403, 301, 307, 308])('%i is an operator’s matter', (code) => {
    expect(answerTo(status(code), NOW)).toEqual({ kind: 'notSent', code: `http_${code}`, configuration: true });
  });

  it.each([0, 300, 302, 303, 304, 500, 501, 502, 503, 504, 599, 600, 999])('%i says nothing', (code) => {
    expect(answerTo(status(code), NOW)).toEqual({ kind: 'unknown', code: `http_${code}` });
  });
});

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['120', 120_000],
    ['Sun, 01 Mar 2026 09:01:00 GMT', 60_000],
    ['Sunday, 01-Mar-26 09:01:00 GMT', 60_000],
    ['Sun, 01 Mar 2026 08:00:00 GMT', 0],
  ])('%s asks for %i ms', (value, retryAfterMs) => {
    expect(answerTo(status(429, value), NOW)).toEqual({ kind: 'notSent', code: 'http_429', retryAfterMs });
  });

  it.each(['', '-5', '1.5', '5s', '1e3', '99999999999', 'soon', 'May', 'Sun, tomorrow'])(
    '%j asks for nothing',
    (value) => {
      expect(answerTo(status(429, value), NOW)).toEqual({ kind: 'notSent', code: 'http_429' });
    },
  );
});

describe('no status', () => {
  it.each([
    ['ECONNREFUSED', 'http_connection'],
    ['ENOTFOUND', 'http_dns'],
    ['EAI_AGAIN', 'http_dns'],
    ['ETIMEDOUT', 'http_connect_timeout'],
    ['ABORTED', 'http_connect_timeout'],
    ['EHOSTUNREACH', 'http_connection'],
    ['UNNAMED', 'http_connection'],
  ])('before the connection stands, %s: not sent', (errorCode, code) => {
    expect(answerTo(failure('connecting', errorCode), NOW)).toEqual({ kind: 'notSent', code });
  });

  it.each(['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID', 'EPROTO', 'UNNAMED'])(
    'while TLS comes up, %s: not sent, and an operator’s matter',
    (errorCode) => {
      const answer = { kind: 'notSent', code: 'http_tls', configuration: true };
      expect(answerTo(failure('securing', errorCode), NOW)).toEqual(answer);
    },
  );

  it.each([
    ['ECONNRESET', 'http_connection'],
    ['ABORTED', 'http_connect_timeout'],
  ])('while TLS comes up, %s: not sent', (errorCode, code) => {
    expect(answerTo(failure('securing', errorCode), NOW)).toEqual({ kind: 'notSent', code });
  });

  it.each([
    ['ECONNRESET', 'http_answer_lost'],
    ['EPIPE', 'http_answer_lost'],
    ['HPE_INVALID_CONSTANT', 'http_answer_lost'],
    ['UNNAMED', 'http_answer_lost'],
    ['ABORTED', 'http_timeout'],
  ])('after that, %s: unknown', (errorCode, code) => {
    expect(answerTo(failure('sent', errorCode), NOW)).toEqual({ kind: 'unknown', code });
  });
});

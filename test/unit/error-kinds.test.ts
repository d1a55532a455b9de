import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { errorCode, errorKind, isRetryableConflict } from '../../src/db/error-kinds.js';
import { DeadlineError, HandlerDefectError } from '../../src/errors.js';

function databaseError(code: string): Error {
  const error = new pg.DatabaseError('value "secret@example.com" is bad', 1, 'error');
  error.code = code;
  error.severity = 'ERROR';
  return error;
}

const INFRASTRUCTURE = [
  '08006', '25006', '25P03', '40001', '40P01', '53100', '53300', '55P03', '57P01', '57P03', '58030',
]; // prettier-ignore
const DEFECTS = ['22P02', '22003', '23505', '25P02', '42P01', '54001', 'P0001'];

describe('the table of error kinds', () => {
  it.each(INFRASTRUCTURE)('takes SQLSTATE %s for the infrastructure', (code) => {
    expect(errorKind(databaseError(code))).toBe('infrastructure');
    expect(errorKind(databaseError(code), 'handler')).toBe('infrastructure');
  });

  it.each(DEFECTS)('takes SQLSTATE %s for a defect', (code) => {
    expect(errorKind(databaseError(code))).toBe('defect');
  });

  it.each([
    ['cancelled', '57014'],
    ['refused for lack of a privilege', '42501'],
  ])('takes a statement that is %s for a defect only inside a handler', (_what, code) => {
    expect(errorKind(databaseError(code))).toBe('infrastructure');
    expect(errorKind(databaseError(code), 'handler')).toBe('defect');
  });

  it.each(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND'])(
    'takes %s for a lost connection',
    (code) => {
      expect(errorKind(Object.assign(new Error('connect'), { code }))).toBe('infrastructure');
    },
  );

  it('takes a missing file for a lost connection only where it is a socket', () => {
    const missing = (syscall: string): Error => Object.assign(new Error('ENOENT'), { code: 'ENOENT', syscall });
    expect(errorKind(missing('connect'))).toBe('infrastructure');
    expect(errorKind(missing('open'), 'handler')).toBe('defect');
  });

  it('takes what pg says of a broken connection for the infrastructure, and a plain error for a defect', () => {
    expect(errorKind(new Error('Connection terminated unexpectedly'))).toBe('infrastructure');
    expect(errorKind(new Error('timeout exceeded when trying to connect'))).toBe('infrastructure');
    expect(errorKind(new TypeError("Cannot read properties of undefined (reading 'id')"))).toBe('defect');
    expect(errorKind('thrown text')).toBe('defect');
  });

  it('knows our own errors', () => {
    expect(errorKind(new DeadlineError('late'))).toBe('infrastructure');
    expect(errorKind(new HandlerDefectError('handler_timeout', 'long'))).toBe('defect');
  });

  it('repeats only what lost to another transaction', () => {
    expect(['40P01', '40001', '55P03', '23505'].map((code) => isRetryableConflict(databaseError(code)))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('gives a code and never the text, which quotes values', () => {
    expect(errorCode(databaseError('22P02'))).toBe('sqlstate_22P02');
    expect(errorCode(new Error('secret@example.com'))).toBe('unexpected_error');
    expect(errorCode(Object.assign(new Error('x'), { code: 'ECONNRESET' }))).toBe('econnreset');
  });
});

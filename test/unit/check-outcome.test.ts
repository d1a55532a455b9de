import { describe, expect, it } from 'vitest';
import { checkOutcome } from '../../activities/check-outcome.js';
import { HandlerDefectError } from '../../src/errors.js';

const operation = { kind: 'email', key: 'email:1', params: { to: 'a@example.com' } };
const reference = { type: 'charge', id: 'ch_1' };

describe('an outcome', () => {
  const fetcher = (): Promise<{ kind: 'missing' }> => Promise.resolve({ kind: 'missing' });
  it.each([
    { kind: 'applied', operations: [operation], orderId: 'o_1' },
    { kind: 'applied', operations: [] },
    { kind: 'duplicate', orderId: 'ö'.repeat(255) },
    { kind: 'superseded', orderId: '🚲'.repeat(255) },
    { kind: 'ignored' },
    { kind: 'ignored', reason: 'foreign' },
    { kind: 'wait', reason: 'unknown_order', fetch: reference, orderId: 'o_1' },
    { kind: 'fetchFirst', references: [reference, reference] },
    { kind: 'fetchFirst', references: [reference], by: fetcher },
    { kind: 'quarantine', reason: 'contradiction', keep: true, orderId: 'o_1' },
  ])('is taken as it is: $kind', (outcome) => {
    expect(checkOutcome(outcome, 1)).toStrictEqual(outcome);
  });

  it('names no order by null, as a column may be', () => {
    expect(checkOutcome({ kind: 'duplicate', orderId: null }, 1)).toStrictEqual({ kind: 'duplicate' });
  });

  it('has only the fields of its kind', () => {
    expect(checkOutcome({ kind: 'duplicate', reason: 7, notes: null }, 1)).toStrictEqual({ kind: 'duplicate' });
  });
});

describe('what is none', () => {
  const applied = (operations: unknown): unknown => ({ kind: 'applied', operations });
  const quarantine = (details: object): unknown => ({ kind: 'quarantine', reason: 'contradiction', ...details });
  const nothing: readonly (readonly [string, unknown])[] = [
    ['undefined', undefined],
    ['null', null],
    ['a text', 'applied'],
    ['a function', () => undefined],
    ['an unknown kind', { kind: 'done' }],
    ['a kind that is a list', { kind: ['applied'], operations: [] }],
    ['an order ID that is a number', quarantine({ orderId: 42 })],
    ['an order ID that is a bigint', { kind: 'duplicate', orderId: 42n }],
    ['an order ID that is a date', { kind: 'superseded', orderId: new Date() }],
    ['an empty order ID', quarantine({ orderId: '' })],
    ['an order ID of 256 characters', quarantine({ orderId: 'o'.repeat(256) })],
    ['an order ID with a NUL', quarantine({ orderId: 'o\u0000' })],
    ['an order ID with half a character', quarantine({ orderId: 'o\ud800' })],
    ['an order ID that is a number on applied', { kind: 'applied', operations: [], orderId: 42 }],
    ['an order ID that is a number on wait', { kind: 'wait', reason: 'unknown_order', orderId: 42 }],
    ['operations that are no list', applied({})],
    ['null among the operations', applied([null])],
    ['a hole in the operations', applied(new Array(1))],
    ['an operation whose kind is a symbol', applied([{ ...operation, kind: Symbol('email') }])],
    ['an operation without a key', applied([{ kind: 'email', params: {} }])],
    ['a reason that is null', { kind: 'ignored', reason: null }],
    ['a reason that is a symbol', quarantine({ reason: Symbol('x') })],
    ['a reason that is no code', quarantine({ reason: 'Not A Code' })],
    ['quarantine without a reason', { kind: 'quarantine' }],
    ['wait without a reason', { kind: 'wait' }],
    ['a look that is null', { kind: 'wait', reason: 'unknown_order', fetch: null }],
    ['a look without an ID', { kind: 'wait', reason: 'unknown_order', fetch: { type: 'charge' } }],
    ['no references', { kind: 'fetchFirst', references: [] }],
    ['a hole in the references', { kind: 'fetchFirst', references: new Array(1) }],
    ['a reference with an empty ID', { kind: 'fetchFirst', references: [{ type: 'charge', id: '' }] }],
    ['a fetch that is no function', { kind: 'fetchFirst', references: [reference], by: 'stripe' }],
    ['a keep that is no boolean', quarantine({ keep: 'yes' })],
  ];
  it.each(nothing)('is told as a defect: %s', (_name, value) => {
    const check = (): unknown => checkOutcome(value, 1);
    expect(check).toThrow(HandlerDefectError);
    expect(check).toThrow(/^The handler returned /);
  });

  it('keep beside another handler', () => {
    expect(() => checkOutcome(quarantine({ keep: true }), 2)).toThrow(/single handler/);
  });
});

import { describe, expect, it } from 'vitest';
import type { Proof } from '../../src/testing/index.js';
import { proof as calendar } from '../prove/built-in-calendar.js';
import { proof as ledger } from '../prove/built-in-ledger.js';
import { proveOrders } from '../prove/built-in-orders.js';
import { proveHere, stepsOf } from '../support/prove-here.js';

/** Together 1,000 schedules. */
const BUILT_IN: readonly (readonly [string, Proof, number])[] = [
  ['orders, paid and refunded', proveOrders('paid_and_refunded'), 250],
  ['orders, disputed', proveOrders('disputed'), 200],
  ['orders, a delayed payment', proveOrders('delayed'), 150],
  ['ledger', ledger, 200],
  ['calendar', calendar, 200],
];

describe('the built-in sets raise no false alarm over 1,000 schedules', () => {
  it.each(BUILT_IN)('%s', { timeout: 300_000 }, async (name, proof, schedules) => {
    const verdict = await proveHere(name, proof, schedules);
    expect(stepsOf(verdict)).toEqual([]);
    expect(verdict.counterexample).toBeNull();
    expect(verdict.schedules).toBeGreaterThanOrEqual(schedules);
  });
});

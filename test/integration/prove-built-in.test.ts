import { describe, expect, it } from 'vitest';
import type { Proof } from '../../src/testing/index.js';
import { proof as calendar } from '../prove/built-in-calendar.js';
import { proof as ledger } from '../prove/built-in-ledger.js';
import { proveOrders } from '../prove/built-in-orders.js';
import { proveHere, stepsOf } from '../support/prove-here.js';

/** With how many schedules are asked for; each has at least so many, all of them at least `TOGETHER`. */
const BUILT_IN: readonly (readonly [string, Proof, number])[] = [
  ['orders, paid and refunded', proveOrders('paid_and_refunded'), 250],
  ['orders, disputed', proveOrders('disputed'), 200],
  ['orders, a delayed payment', proveOrders('delayed'), 150],
  ['ledger', ledger, 200],
  ['calendar', calendar, 200],
];
const TOGETHER = 1_000;

describe(`the built-in sets raise no false alarm over ${TOGETHER} schedules`, () => {
  const tried: number[] = [];

  it.each(BUILT_IN)('%s', { timeout: 300_000 }, async (name, proof, schedules) => {
    const verdict = await proveHere(name, proof, schedules);
    expect(stepsOf(verdict)).toEqual([]);
    expect(verdict.counterexample).toBeNull();
    expect(verdict.schedules).toBeGreaterThanOrEqual(schedules);
    tried.push(verdict.schedules);
  });

  it('so many in all', () => {
    expect(tried).toHaveLength(BUILT_IN.length);
    expect(tried.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(TOGETHER);
  });
});

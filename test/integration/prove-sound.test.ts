import { describe, expect, it } from 'vitest';
import type { Proof } from '../../src/testing/index.js';
import { proof as calendar } from '../prove/built-in-calendar.js';
import { proof as ledger } from '../prove/built-in-ledger.js';
import { proveOrders } from '../prove/built-in-orders.js';
import { proof as c12 } from '../prove/c12-corrected.js';
import { proof as c14 } from '../prove/c14-corrected.js';
import { proof as c16 } from '../prove/c16-corrected.js';
import { proof as c17 } from '../prove/c17-corrected.js';
import { proof as c21 } from '../prove/c21-corrected.js';
import { proof as c33 } from '../prove/c33-corrected.js';
import { proof as latestState } from '../prove/latest-state.js';
import { proveHere, stepsOf } from '../support/prove-here.js';

const SOUND: readonly (readonly [string, Proof])[] = [
  ['C12', c12],
  ['C14', c14],
  ['C16', c16],
  ['C17', c17],
  ['C21', c21],
  ['C33', c33],
  ['a latest-state handler', latestState],
];

describe('a handler that is sound is proven, every schedule tried', () => {
  it.each(SOUND)('%s', { timeout: 180_000 }, async (name, proof) => {
    const verdict = await proveHere(`${name}, corrected`, proof);
    expect(stepsOf(verdict)).toEqual([]);
    expect(verdict.counterexample).toBeNull();
    expect(verdict.exhaustive).toBe(true);
  });
});

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

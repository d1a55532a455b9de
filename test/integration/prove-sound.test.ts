import { describe, expect, it } from 'vitest';
import type { Proof } from '../../src/testing/index.js';
import { proof as c12 } from '../prove/c12-corrected.js';
import { proof as c14 } from '../prove/c14-corrected.js';
import { proof as c15 } from '../prove/c15-corrected.js';
import { proof as c16 } from '../prove/c16-corrected.js';
import { proof as c17 } from '../prove/c17-corrected.js';
import { proof as c21 } from '../prove/c21-corrected.js';
import { proof as c22 } from '../prove/c22-corrected.js';
import { proof as c33 } from '../prove/c33-corrected.js';
import { proof as latestState } from '../prove/latest-state.js';
import { proof as statementsAtOnce } from '../prove/statements-at-once.js';
import { proof as twoSteps } from '../prove/two-steps.js';
import { proveHere, stepsOf } from '../support/prove-here.js';

const SOUND: readonly (readonly [string, Proof])[] = [
  ['C12, corrected', c12],
  ['C14, corrected', c14],
  ['C15, corrected', c15],
  ['C16, corrected', c16],
  ['C17, corrected', c17],
  ['C21, corrected', c21],
  ['C22, corrected', c22],
  ['C33, corrected', c33],
  ['a latest-state handler', latestState],
  ['statements that are sent at once', statementsAtOnce],
  ['two steps, which come one after the other', twoSteps],
];

describe('a handler that is sound is proven, every schedule tried', () => {
  it.each(SOUND)('%s', { timeout: 180_000 }, async (name, proof) => {
    const verdict = await proveHere(name, proof);
    expect(stepsOf(verdict)).toEqual([]);
    expect(verdict.counterexample).toBeNull();
    expect(verdict.exhaustive).toBe(true);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextWaitMs, type WaitPolicy } from '../../src/domain/wait-schedule.js';

const MINUTE = 60_000;
const DEFAULTS: WaitPolicy = { firstWaitMs: 5_000, maxWaitMs: 10 * MINUTE, horizonMs: 60 * MINUTE };

/** The waits of an event that nothing ever comes for, each taken to its end. */
function allWaits(policy: WaitPolicy): number[] {
  const waits: number[] = [];
  for (let elapsed = 0; ;) {
    const wait = nextWaitMs(policy, elapsed);
    if (wait === null) return waits;
    waits.push(wait);
    elapsed += wait;
  }
}

describe('the schedule of waits', () => {
  it('is 1, 6, 24 and 120 first waits, capped, and the rest of the horizon', () => {
    expect(allWaits(DEFAULTS)).toEqual([5_000, 30_000, 120_000, 600_000, 2_845_000]);
  });

  it('ends at the horizon, not a look later', () => {
    expect(nextWaitMs(DEFAULTS, DEFAULTS.horizonMs - 1)).toBe(1_000);
    expect(nextWaitMs(DEFAULTS, DEFAULTS.horizonMs)).toBeNull();
  });

  it('goes on where it was when a run is started again late', () => {
    expect(nextWaitMs(DEFAULTS, 5_000)).toBe(30_000);
    expect(nextWaitMs(DEFAULTS, 20_000)).toBe(15_000);
    // A look that would come within a second is joined with the next one.
    expect(nextWaitMs(DEFAULTS, 34_500)).toBe(120_500);
  });

  it('always ends, in few rounds, for any policy', () => {
    const ms = fc.integer({ min: 1, max: 86_400_000 });
    fc.assert(
      fc.property(ms, ms, ms, (firstWaitMs, maxWaitMs, horizonMs) => {
        const waits = allWaits({ firstWaitMs, maxWaitMs, horizonMs });
        expect(waits.length).toBeLessThanOrEqual(6);
        expect(waits.every((wait) => wait > 0)).toBe(true);
      }),
    );
  });
});

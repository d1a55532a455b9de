import { describe, expect, test } from 'vitest';
import { retryDelayMs, spreadOf } from '../../src/operations/retry-delay.js';

describe('the delay before the next attempt', () => {
  test('doubles for what was not sent, up to ten minutes', () => {
    const delays = [1, 2, 3, 9, 10, 1_000].map((round) => retryDelayMs({ cause: 'not_sent', round, spread: 0 }));
    expect(delays).toEqual([2_000, 4_000, 8_000, 512_000, 600_000, 600_000]);
  });

  test('is at most as long as the outage was so far, from the second attempt on', () => {
    let elapsed = 0;
    for (let round = 1; round <= 12; round += 1) {
      const delay = retryDelayMs({ cause: 'not_sent', round, spread: 0 });
      expect(delay).toBeLessThanOrEqual(Math.max(elapsed + 2_000, 2_000));
      elapsed += delay;
    }
  });

  test('grows faster after lost answers, since each send may be a copy', () => {
    const delays = [1, 2, 3, 4, 5, 9].map((round) => retryDelayMs({ cause: 'answer_lost', round, spread: 0 }));
    expect(delays).toEqual([5_000, 20_000, 80_000, 320_000, 1_280_000, 21_600_000]);
  });

  test('honours what the other side asks for, up to six hours', () => {
    const ask = (retryAfterMs: number): number =>
      retryDelayMs({ cause: 'not_sent', round: 1, spread: 0, retryAfterMs });
    expect(ask(1_000)).toBe(2_000);
    expect(ask(90_000)).toBe(90_000);
    expect(ask(7 * 86_400_000)).toBe(21_600_000);
    expect(ask(-5)).toBe(2_000);
    expect(ask(Number.NaN)).toBe(2_000);
  });

  test('is spread by the key alone, at most a quarter shorter', () => {
    expect(retryDelayMs({ cause: 'not_sent', round: 1, spread: 1 })).toBe(1_500);
    expect(spreadOf(`oncehook:${'0'.repeat(40)}:1`)).toBe(0);
    expect(spreadOf(`oncehook:${'f'.repeat(40)}:1`)).toBe(1);
    expect(spreadOf('no hex at all here: zz')).toBe(0);
  });
});

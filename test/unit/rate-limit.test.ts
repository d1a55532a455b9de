import { expect, test } from 'vitest';
import { createRateLimiter } from '../../src/http/rate-limit.js';

test('lets a burst through, then the rate', () => {
  const limiter = createRateLimiter({ perSecond: 10, burst: 3 });
  expect([0, 0, 0, 0].map((at) => limiter.take(at))).toEqual([true, true, true, false]);
  expect(limiter.take(99)).toBe(false);
  expect(limiter.take(100)).toBe(true);
  expect(limiter.take(100)).toBe(false);
});

test('a long pause fills no more than the burst', () => {
  const limiter = createRateLimiter({ perSecond: 10, burst: 2 });
  limiter.take(0);
  expect([1e6, 1e6, 1e6].map((at) => limiter.take(at))).toEqual([true, true, false]);
});

test('a refusal costs nothing', () => {
  const limiter = createRateLimiter({ perSecond: 1, burst: 1 });
  limiter.take(0);
  for (let at = 0; at < 1_000; at += 10) expect(limiter.take(at)).toBe(false);
  expect(limiter.take(1_000)).toBe(true);
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLineSampler } from '../../src/http/line-sampler.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setup(): { sampler: ReturnType<typeof createLineSampler>; reports: [string, number][] } {
  const reports: [string, number][] = [];
  return { sampler: createLineSampler((...report) => reports.push(report)), reports };
}

test('lets ten lines a second of one cause through and reports the rest once', () => {
  const { sampler, reports } = setup();
  const allowed = Array.from({ length: 25 }, () => sampler.allows('a')).filter(Boolean);
  expect(allowed).toHaveLength(10);
  expect(reports).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(reports).toEqual([['a', 15]]);
  expect(sampler.allows('a')).toBe(true);
});

test('counts each cause by itself', () => {
  const { sampler } = setup();
  for (let line = 0; line < 20; line += 1) sampler.allows('a');
  expect(sampler.allows('b')).toBe(true);
});

test('says nothing when nothing was left out', () => {
  const { sampler, reports } = setup();
  for (let line = 0; line < 10; line += 1) sampler.allows('a');
  vi.advanceTimersByTime(5_000);
  expect(reports).toEqual([]);
});

test('reports what is counted when it stops, and leaves no timer', () => {
  const { sampler, reports } = setup();
  for (let line = 0; line < 12; line += 1) sampler.allows('a');
  sampler.stop();
  expect(reports).toEqual([['a', 2]]);
  expect(vi.getTimerCount()).toBe(0);
});

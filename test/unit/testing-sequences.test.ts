import { describe, expect, it } from 'vitest';
import { duplicates, permutations, stripeEvent } from '../../src/testing/index.js';

const created = stripeEvent('payment_intent.created', { id: 'pi_1' });
const failed = stripeEvent('payment_intent.payment_failed', { id: 'pi_1' });
const paid = stripeEvent('payment_intent.succeeded', { id: 'pi_1' });

describe('permutations', () => {
  it('are all orders, the given one first, under names for titles', () => {
    const all = [...permutations([created, failed, paid])];
    expect(all).toHaveLength(6);
    expect(all[0]).toEqual({
      name: 'payment_intent.created → payment_intent.payment_failed → payment_intent.succeeded',
      deliveries: [created, failed, paid].map((event) => ({ event, as: 'first' })),
    });
    expect(new Set(all.map(({ name }) => name)).size).toBe(6);
  });

  it('tell events of one type apart by number', () => {
    const second = stripeEvent('payment_intent.succeeded', { id: 'pi_2' });
    const names = [...permutations([paid, second])].map(({ name }) => name);
    expect(names[1]).toBe('payment_intent.succeeded #2 → payment_intent.succeeded #1');
  });

  it('are 720 of six events, and none of seven', () => {
    expect([...permutations(Array.from({ length: 6 }, () => paid))]).toHaveLength(720);
    expect(() => [...permutations(Array.from({ length: 7 }, () => paid))]).toThrow('at most six');
  });
});

describe('duplicates', () => {
  it('repeat each event at each later place, under its own ID and under another', () => {
    const names = [...duplicates([failed, paid])].map(({ name }) => name);
    const [first, second] = ['payment_intent.payment_failed', 'payment_intent.succeeded'];
    expect(names).toEqual([
      `${first} → ${first} again → ${second}`,
      `${first} → ${first} under a new ID → ${second}`,
      `${first} → ${second} → ${first} again`,
      `${first} → ${second} → ${first} under a new ID`,
      `${first} → ${second} → ${second} again`,
      `${first} → ${second} → ${second} under a new ID`,
    ]);
  });
});

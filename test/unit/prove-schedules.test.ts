import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differences, unordered, type End } from '../../src/prove/end.js';
import {
  randomSchedule,
  serialSchedules,
  singleFaultSchedules,
  type Material,
} from '../../src/prove/plan-schedules.js';
import { seededRandom } from '../../src/prove/random.js';
import { actorsOf, encodeSchedule, parseSchedule, type Schedule } from '../../src/prove/schedule.js';
import { shrink, simpler } from '../../src/prove/shrink.js';
import { createTurns } from '../../src/prove/turns.js';
import { PROOF_ASPECTS } from '../../src/testing/proof.js';

const MATERIAL: Material = {
  events: 3,
  steps: 1,
  statements: [8, 9, 10],
  operations: [1, 0, 2],
  repeats: ['again', 'copy'],
};
const COUNTS = { events: 3, steps: 1 };
const SERIAL = serialSchedules(MATERIAL);

function parsed(text: string): Schedule {
  const schedule = parseSchedule(text, COUNTS);
  if (schedule === undefined) throw new Error(`${text} does not parse`);
  return schedule;
}

const anySchedule = fc
  .integer({ min: 0, max: 2 ** 31 })
  .map((seed) => randomSchedule(SERIAL, MATERIAL, seededRandom(seed)));

describe('a schedule as text', () => {
  it('comes back as it was', () => {
    fc.assert(
      fc.property(anySchedule, (schedule) => {
        expect(parseSchedule(encodeSchedule(schedule), COUNTS)).toEqual(schedule);
      }),
    );
  });

  it.each(['', '4', '0', 's2', '1:after', '1:operation1.nowhere', '1+2', '1+2:x', '1;2', '1again2', '1,,2'])(
    'refuses %j',
    (text) => {
      expect(parseSchedule(text, COUNTS)).toBeUndefined();
    },
  );
});

describe('what is tried', () => {
  it('begins with the own order, steps first, and has every order once', () => {
    expect(SERIAL.map(encodeSchedule)[0]).toBe('s1,1,2,3');
    expect(new Set(SERIAL.map(encodeSchedule)).size).toBe(24);
  });

  it('keeps steps in their given order, at every place among the events', () => {
    const names = serialSchedules({ events: 2, steps: 2 }).map(encodeSchedule);
    expect(names).toHaveLength(12);
    expect(names.every((name) => name.indexOf('s1') < name.indexOf('s2'))).toBe(true);
    expect(names).toEqual(expect.arrayContaining(['s1,s2,1,2', 's1,1,s2,2', '2,1,s1,s2', '2,s1,1,s2']));
  });

  it('has each single duplicate, crash, lost answer and interruption in each order, none twice', () => {
    const names = [...singleFaultSchedules(SERIAL, MATERIAL)].map(encodeSchedule);
    expect(new Set(names).size).toBe(names.length);
    for (const one of [
      's1,1,1copy,2,3',
      's1,1,2,3,1again',
      '3,2:before2,1,s1',
      's1,1,2:after9,3',
      's1,1:operation1.lost-answer,2,3',
      '1,2,s1,3:operation2.intent-stored',
      's1,1+1again:3,2,3',
      's1,1,2+2copy:8,3',
      '1,2,s1+3:3',
      's1,3+1:9,2',
    ]) {
      expect(names).toContain(one);
    }
    expect(names.filter((name) => name.startsWith('s1,1:'))).toHaveLength((2 * 8 - 1 + 5) * 2);
  });

  it('repeats nothing before it came', () => {
    fc.assert(
      fc.property(anySchedule, (schedule) => {
        const seen = new Set<number>();
        for (const move of schedule) {
          const events = actorsOf(move).flatMap((actor) => (actor.kind === 'event' ? [actor] : []));
          for (const { event, as } of events) if (as === 'first') seen.add(event);
          expect(events.every(({ event }) => seen.has(event))).toBe(true);
        }
      }),
    );
  });

  it('is the same under the same seed', () => {
    const under = (seed: number): readonly string[] => {
      const random = seededRandom(seed);
      return Array.from({ length: 20 }, () => encodeSchedule(randomSchedule(SERIAL, MATERIAL, random)));
    };
    expect(under(7)).toEqual(under(7));
    expect(under(7)).not.toEqual(under(8));
  });
});

describe('shrinking', () => {
  it('leaves what the failure needs: two events the wrong way round', async () => {
    const fails = (schedule: Schedule): Promise<boolean> => {
      const order = schedule.flatMap(actorsOf).flatMap((actor) => (actor.kind === 'event' ? [actor.event] : []));
      return Promise.resolve(order.includes(0) && order.includes(2) && order.indexOf(2) < order.indexOf(0));
    };
    expect(encodeSchedule(await shrink(parsed('3copy,2:before4,3+2again:4.2,s1,1,1again,1copy'), fails))).toBe('3,1');
    expect(encodeSchedule(await shrink(parsed('s1,2,3:after7,1+1copy:3.1.2,2again'), fails))).toBe('3,1');
  });

  it('takes no step away that a later one needs', async () => {
    const schedule = parseSchedule('1,s1,2,s2', { events: 2, steps: 2 }) ?? [];
    const fails = (tried: Schedule): Promise<boolean> =>
      Promise.resolve(tried.flatMap(actorsOf).some((actor) => actor.kind === 'step' && actor.step === 1));
    expect(encodeSchedule(await shrink(schedule, fails))).toBe('s1,s2');
  });

  it('leaves the crash, at the first place that fails', async () => {
    const fails = (schedule: Schedule): Promise<boolean> =>
      Promise.resolve(
        schedule.some(
          (move) => move.kind === 'alone' && move.fault?.kind === 'statement' && move.fault.at > 4 && move.fault.at < 9,
        ),
      );
    expect(encodeSchedule(await shrink(parsed('s1,2,1,3:after8'), fails))).toBe('3:after5');
  });

  it('leaves two at once with one interruption', async () => {
    const fails = (schedule: Schedule): Promise<boolean> =>
      Promise.resolve(schedule.some((move) => move.kind === 'both' && (move.turns[0] ?? 0) > 2));
    expect(encodeSchedule(await shrink(parsed('s1,3,1+2:7.3.1'), fails))).toBe('1+2:3');
  });

  it('only ever proposes what is possible, and comes to an end', () => {
    fc.assert(
      fc.property(anySchedule, (schedule) => {
        let left = schedule;
        for (let rounds = 0; ; rounds += 1) {
          const [next] = simpler(left);
          if (next === undefined) break;
          expect(rounds).toBeLessThan(500);
          left = next;
        }
        expect(left).toHaveLength(1);
      }),
    );
  });
});

describe('two ends', () => {
  const end: End = {
    state: [{ id: 'o_1', status: 'paid' }],
    outside: [],
    operations: {},
    events: { a: 'done' },
    copies: {},
  };
  const paths = (found: Partial<End>): readonly string[] =>
    differences(end, { ...end, ...found }, PROOF_ASPECTS).map(({ path }) => path);

  it('differ where they differ', () => {
    expect(paths({})).toEqual([]);
    expect(paths({ state: [{ id: 'o_1', status: 'failed' }] })).toEqual(['state[0].status']);
    expect(paths({ state: [] })).toEqual(['state[0]']);
    expect(paths({ events: { a: 'quarantined: amount' } })).toEqual(['events.a']);
    expect(paths({ outside: ['mail'] })).toEqual(['effects[0]']);
  });

  it('agree when the same effects happened in another order, each as it was', () => {
    expect(
      unordered([
        { to: 'b', minor: 1 },
        { minor: 2, to: 'a' },
      ]),
    ).toEqual(
      unordered([
        { to: 'a', minor: 2 },
        { minor: 1, to: 'b' },
      ]),
    );
    expect(unordered({ mails: ['b', 'a'], sent: 2 })).toEqual(unordered({ mails: ['a', 'b'], sent: 2 }));
    expect(unordered([['from', 'to']])).not.toEqual(unordered([['to', 'from']]));
    expect(unordered([1, 1])).not.toEqual(unordered([1]));
  });

  it('agree when a copy is done or where its event is, and not when it fares worse', () => {
    expect(paths({ copies: { a: 'done' } })).toEqual([]);
    expect(paths({ copies: { a: 'quarantined: amount' } })).toEqual(['events["a" under a new ID]']);
  });

  it('agree when an effect was left to a person as its policy says, whether it happened or not', () => {
    const operation = { kind: 'mail', params: {}, status: 'confirmed', isLeftOpen: false };
    const expected: End = { ...end, operations: { k: operation }, outside: ['mail'] };
    const leftOpen: End = {
      ...expected,
      operations: { k: { ...operation, status: 'parked', isLeftOpen: true } },
      outside: [],
    };
    expect(differences(expected, leftOpen, PROOF_ASPECTS)).toEqual([]);
    const parked: End = { ...leftOpen, operations: { k: { ...operation, status: 'parked' } } };
    expect(differences(expected, parked, PROOF_ASPECTS)).not.toEqual([]);
  });
});

describe('turns', () => {
  /** Two lanes that each send the given number of statements, and the order in which they came. */
  async function sent(pattern: readonly number[], counts: readonly [number, number]): Promise<string> {
    const order: string[] = [];
    const turns = createTurns(pattern, () => Promise.resolve(false));
    const lane = async (at: 0 | 1): Promise<void> => {
      const own = turns.lanes[at];
      for (let statement = 0; statement < counts[at]; statement += 1) {
        await own.take();
        own.sent(1);
        order.push('ab'.charAt(at));
        await Promise.resolve();
        own.returned();
      }
      own.ended();
    };
    await Promise.all([lane(0), lane(1), turns.conduct()]);
    return order.join('');
  }

  it.each([
    [[2], 'aabbbbaa'],
    [[1, 2, 1], 'abbabbaa'],
    [[9], 'aaaabbbb'],
    [[1, 1, 1, 1], 'ababaabb'],
  ])('are given as the pattern %j says, and then to the end', async (pattern, order) => {
    expect(await sent(pattern, [4, 4])).toBe(order);
  });
});

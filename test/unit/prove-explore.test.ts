import { describe, expect, it } from 'vitest';
import { applied, defineHandlers } from '../../src/index.js';
import { castOf } from '../../src/prove/cast.js';
import type { End } from '../../src/prove/end.js';
import { explore, type Explored, type Progress } from '../../src/prove/prove.js';
import { linesOf } from '../../src/prove/report.js';
import { actorsOf, encodeSchedule, type Schedule } from '../../src/prove/schedule.js';
import type { Run } from '../../src/prove/stage.js';
import { defineProof, type Proof } from '../../src/testing/index.js';

const STATEMENTS = 7;
const OPERATIONS = ['order:o_1'];
const GOOD: End = { state: 'good', outside: [], operations: {}, events: {}, copies: {} };

function proofOf({ events, steps = 0 }: { readonly events: number; readonly steps?: number }): Proof {
  const names = Array.from({ length: steps }, (_, at) => [`step ${at + 1}`, () => undefined] as const);
  return defineProof({
    handlers: defineHandlers({ paid: () => applied() }),
    events: Array.from({ length: events }, (_, at) => ({ type: 'paid', id: `e${at + 1}`, payload: {} })),
    steps: Object.fromEntries(names),
    state: () => null,
  });
}

/** A run in which every event sends as many statements, and that ends well unless `fails` says otherwise. */
function runOf(schedule: Schedule, fails: (name: string) => boolean): Run {
  const happenings = schedule.map((move) => ({
    move,
    results: actorsOf(move).map(() => 'done, applied'),
    statements: actorsOf(move).map(() => Array.from({ length: STATEMENTS }, () => 'select')),
    lostAt: null,
    performed: OPERATIONS,
  }));
  const end = fails(encodeSchedule(schedule)) ? { ...GOOD, state: 'bad' } : GOOD;
  return { schedule, happenings, end, outcomes: { paid: 'applied' }, violation: null };
}

interface Options {
  readonly schedules?: number;
  readonly seed?: number;
  readonly fails?: (name: string) => boolean;
}

async function exploreAll(
  proof: Proof,
  { schedules = 1_000, seed = 7, fails = (): boolean => false }: Options = {},
): Promise<{
  readonly explored: Explored;
  readonly played: readonly string[];
  readonly progress: readonly Progress[];
}> {
  const played = new Set<string>();
  const progress: Progress[] = [];
  const play = (schedule: Schedule): Promise<Run> => {
    played.add(encodeSchedule(schedule));
    return Promise.resolve(runOf(schedule, fails));
  };
  const onProgress = (one: Progress): void => {
    progress.push(one);
  };
  const explored = await explore(proof, { cast: castOf(proof), play }, { seed, schedules, onProgress });
  return { explored, played: [...played], progress };
}

function isOrder(name: string): boolean {
  return /^[s\d,]+$/.test(name);
}

describe('whatever number of schedules is asked for', () => {
  it.each([1, 1_000])('every order of six events is tried (of %i)', async (schedules) => {
    const { explored, played } = await exploreAll(proofOf({ events: 6 }), { schedules });
    expect(played.filter(isOrder)).toHaveLength(720);
    expect(explored.orders).toEqual({ tried: 720, of: 720 });
    expect(explored.exhaustive).toBe(false);
  });

  it('an order that alone fails is found, under any seed', async () => {
    const fails = (name: string): boolean => name === '4,6,2,5,1,3';
    for (let seed = 0; seed < 5; seed += 1) {
      const { explored } = await exploreAll(proofOf({ events: 6 }), { seed, fails });
      expect(explored.counterexample?.run.schedule.map((move) => encodeSchedule([move])).join()).toBe('4,6,2,5,1,3');
    }
  });

  it.each([1, 1_000])('every single fault of the given order is tried (of %i)', async (schedules) => {
    const { played } = await exploreAll(proofOf({ events: 6 }), { schedules });
    const own = ['1', '2', '3', '4', '5', '6'];
    const expected = own.flatMap((event, at) => {
      const faults = Array.from({ length: STATEMENTS }, (_, number) => [`after${number + 1}`, `before${number + 1}`])
        .flat()
        // Before the first statement nothing has been done.
        .filter((fault) => fault !== 'before1')
        .concat(
          ['before-intent', 'intent-stored', 'answered', 'answer-stored', 'lost-answer'].map(
            (point) => `operation1.${point}`,
          ),
        );
      const places = own.slice(at).map((_, behind) => at + 1 + behind);
      return [
        ...faults.map((fault) => own.with(at, `${event}:${fault}`).join()),
        ...places.flatMap((place) => ['again', 'copy'].map((as) => own.toSpliced(place, 0, `${event}${as}`).join())),
        own.with(at, `${event}+${event}again:3`).join(),
      ];
    });
    expect(played).toEqual(expect.arrayContaining(expected));
  });

  it('some random ones are tried on top, and no more than that', async () => {
    const certain = (await exploreAll(proofOf({ events: 6 }), { schedules: 1 })).explored.schedules - 1;
    const { explored, progress } = await exploreAll(proofOf({ events: 6 }));
    expect(explored.schedules).toBe(certain + 200);
    expect(progress.at(-1)).toEqual({ tried: certain + 200, of: certain + 200 });
    expect(progress[1]?.of).toBe(certain + 200);
  });
});

describe('where there are too many orders', () => {
  it('every order of the events is tried with the step somewhere, and the verdict counts what was left out', async () => {
    const { explored, played } = await exploreAll(proofOf({ events: 6, steps: 1 }));
    const orders = played.filter(isOrder);
    expect(explored.orders).toEqual({ tried: 720, of: 5_040 });
    expect(orders).toHaveLength(720);
    expect(new Set(orders.map((name) => name.replace(/s1,|,s1/, ''))).size).toBe(720);
    expect(orders[0]).toBe('s1,1,2,3,4,5,6');
    const verdict = { ...explored, cast: castOf(proofOf({ events: 6, steps: 1 })), durationMs: 1 };
    const [line] = linesOf(verdict, { file: 'f', seed: 7, isRepeat: false });
    expect(line).toContain('(720 of 5040 orders; all with --schedules 5040)');
  });

  it('all are tried when so many were asked for', async () => {
    const { explored } = await exploreAll(proofOf({ events: 5, steps: 2 }), { schedules: 2_520 });
    expect(explored.orders).toEqual({ tried: 2_520, of: 2_520 });
  });
});

it('three events are tried as a whole, every fault in every order', async () => {
  const { explored } = await exploreAll(proofOf({ events: 3 }));
  expect(explored.exhaustive).toBe(true);
  expect(explored.schedules).toBeLessThan(1_200);
});

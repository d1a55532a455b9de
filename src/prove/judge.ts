import { isDeepStrictEqual } from 'node:util';
import { PROOF_ASPECTS, type Proof } from '../testing/proof.js';
import { differences, type End } from './end.js';
import { ordersOf } from './plan-schedules.js';
import { actorsOf, alone, type Actor, type Schedule } from './schedule.js';
import type { Run } from './stage.js';
import type { Violation } from './violation.js';

/** Says what is wrong with a run, if anything is. */
export interface Judge {
  readonly judge: (run: Run) => Promise<Violation | null>;
}

/**
 * A schedule has to end as its events and steps end in the proof's own order, without crashes and duplicates. Where the
 * order of arrival may decide something, it has to end as one of their orders does.
 * @param play gives the run of a schedule
 */
export function createJudge(proof: Proof, play: (schedule: Schedule) => Promise<Run>): Judge {
  const free = proof.arrivalMayDecide ?? [];
  const fixed = PROOF_ASPECTS.filter((aspect) => !free.includes(aspect));
  const ends = new Map<string, Promise<readonly End[]>>();

  const endsOf = (actors: readonly Actor[]): Promise<readonly End[]> => {
    const name = JSON.stringify(actors);
    const known = ends.get(name) ?? playOrders(actors, free.length > 0, play);
    ends.set(name, known);
    return known;
  };

  const judge = async (run: Run): Promise<Violation | null> => {
    if (run.violation !== null) return run.violation;
    const [expected, ...others] = await endsOf(distinctActors(run.schedule));
    if (expected === undefined) return null;
    const found = differences(expected, run.end, fixed);
    if (found.length > 0) return { kind: 'end', differences: found, expected };
    if (free.length === 0 || [expected, ...others].some((end) => isSameEnd(end, run.end))) return null;
    return { kind: 'end', differences: differences(nearest([expected, ...others], run.end), run.end, free), expected };
  };
  return { judge };
}

function isSameEnd(expected: End, found: End): boolean {
  return differences(expected, found, PROOF_ASPECTS).length === 0;
}

/** Of several ends that would have been right, the one that the found one differs from least. */
function nearest(ends: readonly [End, ...End[]], found: End): End {
  const distance = (end: End): number => differences(end, found, PROOF_ASPECTS).length;
  return ends.reduce((best, end) => (distance(end) < distance(best) ? end : best));
}

async function playOrders(
  actors: readonly Actor[],
  wantsAll: boolean,
  play: (schedule: Schedule) => Promise<Run>,
): Promise<readonly End[]> {
  const found: End[] = [];
  for (const order of wantsAll ? ordersOf(actors) : [actors]) {
    const { end } = await play(order.map((actor) => alone(actor)));
    if (!found.some((known) => isDeepStrictEqual(known, end))) found.push(end);
  }
  return found;
}

/** Who acts in a schedule, each once and as its first delivery, in the proof's own order: steps first. */
export function distinctActors(schedule: Schedule): readonly Actor[] {
  const actors = schedule.flatMap(actorsOf);
  const steps = [...new Set(actors.flatMap((actor) => (actor.kind === 'step' ? [actor.step] : [])))];
  const events = [...new Set(actors.flatMap((actor) => (actor.kind === 'event' ? [actor.event] : [])))];
  return [
    ...steps.sort((a, b) => a - b).map((step): Actor => ({ kind: 'step', step })),
    ...events.sort((a, b) => a - b).map((event): Actor => ({ kind: 'event', event, as: 'first' })),
  ];
}

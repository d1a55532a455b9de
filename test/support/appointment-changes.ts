import fc from 'fast-check';
import type { AppointmentChange } from '../../src/handlers/calendar/appointment.js';

const STATUSES = ['created', 'rescheduled', 'canceled'] as const;
const STARTS = ['2026-03-02T09:00:00Z', '2026-03-02T09:00:00.25Z', '2026-03-03T14:00:00Z'] as const;

/** A change with few possible values, so that random ones meet. */
export const anyChange: fc.Arbitrary<AppointmentChange> = fc.record({
  version: fc.integer({ min: 0, max: 6 }),
  status: fc.constantFrom(...STATUSES),
  startsAt: fc.constantFrom(...STARTS),
  endsAt: fc.constant('2026-03-04T00:00:00Z'),
  title: fc.constantFrom('Check-up', 'Prüfung', ''),
});

/** What a sender that keeps its versions apart sends of one appointment, with some of it sent again. */
export function anyHistory(most: {
  readonly changes: number;
  readonly again: number;
}): fc.Arbitrary<AppointmentChange[]> {
  return fc
    .uniqueArray(anyChange, { minLength: 1, maxLength: most.changes, selector: ({ version }) => version })
    .chain((changes) =>
      fc
        .array(fc.constantFrom(...changes), { maxLength: most.again })
        .map((again): AppointmentChange[] => [...changes, ...again]),
    );
}

/** Every order in which the items can arrive; equal items at different places count as different. */
export function* permutations<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  if (items.length <= 1) yield items;
  else {
    for (const [index, first] of items.entries()) {
      for (const rest of permutations(items.toSpliced(index, 1))) yield [first, ...rest];
    }
  }
}

/** What must stand in the end, said without an order: the latest cancel if there is one, else the latest change. */
export function expectedToStand(changes: readonly AppointmentChange[]): AppointmentChange {
  const cancels = changes.filter(({ status }) => status === 'canceled');
  const candidates = cancels.length > 0 ? cancels : changes;
  return candidates.reduce((latest, change) => (change.version > latest.version ? change : latest));
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AppointmentChange } from '../../src/handlers/calendar/appointment.js';
import { judgeChange } from '../../src/handlers/calendar/judge-change.js';
import { anyChange, anyHistory, expectedToStand, permutations } from '../support/appointment-changes.js';

const CHANGE: AppointmentChange = {
  version: 3,
  status: 'rescheduled',
  startsAt: '2026-03-02T09:00:00Z',
  endsAt: '2026-03-02T09:30:00Z',
  title: 'Check-up',
};
const canceled = (version: number): AppointmentChange => ({ ...CHANGE, version, status: 'canceled' });

describe('a change that arrives', () => {
  it.each<[string, AppointmentChange, AppointmentChange, string]>([
    ['a higher version', CHANGE, { ...CHANGE, version: 4 }, 'stands'],
    ['a lower version', CHANGE, { ...CHANGE, version: 2 }, 'superseded'],
    ['the same once more', CHANGE, { ...CHANGE }, 'duplicate'],
    ['the version with another start', CHANGE, { ...CHANGE, startsAt: '2026-03-02T08:00:00Z' }, 'version_conflict'],
    ['the version with another end', CHANGE, { ...CHANGE, endsAt: '2026-03-02T10:00:00Z' }, 'version_conflict'],
    ['the version with another title', CHANGE, { ...CHANGE, title: 'check-up' }, 'version_conflict'],
    ['the version as another kind of change', CHANGE, { ...CHANGE, status: 'created' }, 'version_conflict'],
    ['a cancel under a higher version', CHANGE, canceled(4), 'stands'],
    ['a cancel under a lower version', CHANGE, canceled(2), 'stands'],
    ['a cancel under the same version', CHANGE, canceled(3), 'version_conflict'],
    ['a lower version after a cancel', canceled(3), { ...CHANGE, version: 2 }, 'superseded'],
    ['a higher version after a cancel', canceled(3), { ...CHANGE, version: 4 }, 'superseded'],
    ['the version of a cancel as another change', canceled(3), CHANGE, 'version_conflict'],
    ['the cancel once more', canceled(3), canceled(3), 'duplicate'],
    ['a later cancel', canceled(3), canceled(4), 'stands'],
    ['an earlier cancel', canceled(3), canceled(2), 'superseded'],
  ])('%s', (_what, standing, arriving, verdict) => {
    expect(judgeChange(standing, arriving)).toBe(verdict);
  });
});

/** What stands after all have arrived, and what was said of each. */
function arrive(changes: readonly AppointmentChange[]): { standing: AppointmentChange; verdicts: readonly string[] } {
  const [first, ...rest] = changes;
  let standing = first!;
  const verdicts: string[] = ['stands'];
  for (const change of rest) {
    const verdict = judgeChange(standing, change);
    verdicts.push(verdict);
    if (verdict === 'stands') standing = change;
  }
  return { standing, verdicts };
}

describe('what stands in the end', () => {
  it('is the same in every order of arrival, with anything sent again, and nothing is in conflict', () => {
    fc.assert(
      fc.property(anyHistory({ changes: 4, again: 2 }), (history) => {
        const expected = expectedToStand(history);
        for (const order of permutations(history)) {
          const { standing, verdicts } = arrive(order);
          expect(standing).toEqual(expected);
          expect(verdicts).not.toContain('version_conflict');
        }
      }),
      { numRuns: 150 },
    );
  });

  it('never moves back, also with a sender that gives a version twice: a cancel stays, and versions grow', () => {
    fc.assert(
      fc.property(fc.array(anyChange, { minLength: 1, maxLength: 12 }), (changes) => {
        for (let arrived = 1; arrived < changes.length; arrived += 1) {
          const before = arrive(changes.slice(0, arrived)).standing;
          const after = arrive(changes.slice(0, arrived + 1)).standing;
          const isCanceledNow = after.status === 'canceled' && before.status !== 'canceled';
          if (before.status === 'canceled') expect(after.status).toBe('canceled');
          if (!isCanceledNow) expect(after.version).toBeGreaterThanOrEqual(before.version);
        }
      }),
    );
  });

  it('does not depend on order where a version was given twice and a higher one came', () => {
    const history = [CHANGE, { ...CHANGE, title: 'other' }, { ...CHANGE, version: 4 }];
    for (const order of permutations(history)) expect(arrive(order).standing.version).toBe(4);
  });
});

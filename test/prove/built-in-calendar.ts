import { calendarHandlers } from '../../src/handlers/calendar/index.js';
import { defineProof } from '../../src/testing/index.js';

function change(
  status: 'created' | 'rescheduled' | 'canceled',
  version: number,
): {
  type: string;
  id: string;
  payload: unknown;
} {
  const type = `appointment.${status}`;
  const data = {
    appointment_id: 'appt_1',
    version,
    starts_at: `2026-03-0${version}T09:00:00Z`,
    ends_at: '2026-03-09T09:30:00Z',
    title: 'Check-up',
  };
  return { type, id: `c${version}`, payload: { id: `c${version}`, type, data } };
}

/**
 * The built-in `calendar` set. Which versions are pushed is a matter of arrival, since one that is superseded when it
 * comes needs no push: the calendar on the other side gets what stands in any case.
 */
export const proof = defineProof({
  handlers: calendarHandlers({ push: true }),
  source: 'clinic',
  scope: 'hmac:clinic',
  events: [change('created', 1), change('rescheduled', 2), change('canceled', 3)],
  arrivalMayDecide: ['effects'],
  state: async (db) =>
    (
      await db.query<Record<string, unknown>>(
        'select appointment_id, version, status, starts_at from oncehook.calendar_entries',
      )
    ).rows,
});

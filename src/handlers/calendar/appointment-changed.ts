import {
  applied,
  duplicate,
  operationKey,
  quarantine,
  superseded,
  type Handler,
  type HandlerOutcome,
  type PlannedOperation,
} from '../../api/index.js';
import { readAppointment, type AppointmentFact } from './appointment.js';
import { insertEntry, lockEntry, replaceEntry } from './calendar-table.js';
import { judgeChange } from './judge-change.js';

export interface CalendarOptions {
  /** Whether each change that stands is sent to the target `calendar` of the operation kind `http`. */
  readonly push: boolean;
}

/** `appointment.*`: keeps the change that stands, and plans to tell the calendar of it. */
export function appointmentChanged(options: CalendarOptions): Handler {
  return async (event, tx) => {
    const fact = readAppointment(event);
    if (fact === null) return quarantine('schema');
    if (await insertEntry(tx, event, fact)) return stands(event.tenant, fact, options);

    const standing = await lockEntry(tx, event.tenant, fact.appointmentId);
    // Nobody of ours deletes entries. If somebody does, between these two statements, the next run inserts.
    if (standing === undefined) throw new Error('the calendar entry was deleted meanwhile');
    const verdict = judgeChange(standing, fact);
    switch (verdict) {
      case 'stands':
        await replaceEntry(tx, event, fact);
        return stands(event.tenant, fact, options);
      case 'superseded':
        return superseded();
      case 'duplicate':
        return duplicate();
      case 'version_conflict':
        return quarantine(verdict);
    }
  };
}

function stands(tenant: string, fact: AppointmentFact, { push }: CalendarOptions): HandlerOutcome {
  return applied({ operations: push ? [pushOf(tenant, fact)] : [] });
}

/** The calendar may get versions out of order and more than once, so each says all that there is to know. */
function pushOf(tenant: string, fact: AppointmentFact): PlannedOperation {
  return {
    kind: 'http',
    key: operationKey('http', 'calendar', tenant, fact.appointmentId, String(fact.version)),
    params: {
      target: 'calendar',
      body: {
        tenant,
        appointment_id: fact.appointmentId,
        version: fact.version,
        status: fact.status,
        starts_at: fact.startsAt,
        ends_at: fact.endsAt,
        title: fact.title,
      },
    },
  };
}

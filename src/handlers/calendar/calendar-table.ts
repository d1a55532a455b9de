import type { Transaction, WebhookEvent } from '../../api/index.js';
import { spelledInstant } from '../instant.js';
import type { AppointmentChange, AppointmentFact } from './appointment.js';

type EventOrigin = Pick<WebhookEvent, 'tenant' | 'scope' | 'eventId'>;

/** Writes the entry of an appointment that has none; waits for another transaction that is just writing it. */
export async function insertEntry(tx: Transaction, event: EventOrigin, fact: AppointmentFact): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into oncehook.calendar_entries
            (tenant_id, appointment_id, version, status, starts_at, ends_at, title, source_scope, event_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (tenant_id, appointment_id) do nothing`,
    columnsOf(event, fact),
  );
  return rowCount === 1;
}

/** The change that stands, locked until the transaction ends. */
export async function lockEntry(
  tx: Transaction,
  tenant: string,
  appointmentId: string,
): Promise<AppointmentChange | undefined> {
  const { rows } = await tx.query<AppointmentChange>(
    `select version::float8 as version,
            status,
            ${spelledInstant('starts_at')} as "startsAt",
            ${spelledInstant('ends_at')} as "endsAt",
            title
       from oncehook.calendar_entries
      where tenant_id = $1
        and appointment_id = $2
        for update`,
    [tenant, appointmentId],
  );
  return rows[0];
}

/** Puts another change in force; the caller holds the lock and has judged. */
export async function replaceEntry(tx: Transaction, event: EventOrigin, fact: AppointmentFact): Promise<void> {
  await tx.query(
    `update oncehook.calendar_entries
        set version = $3,
            status = $4,
            starts_at = $5,
            ends_at = $6,
            title = $7,
            source_scope = $8,
            event_id = $9,
            updated_at = now()
      where tenant_id = $1
        and appointment_id = $2`,
    columnsOf(event, fact),
  );
}

function columnsOf(event: EventOrigin, fact: AppointmentFact): (string | number)[] {
  const { appointmentId, version, status, startsAt, endsAt, title } = fact;
  return [event.tenant, appointmentId, version, status, startsAt, endsAt, title, event.scope, event.eventId];
}

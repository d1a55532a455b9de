import { z } from 'zod';
import type { WebhookEvent } from '../../api/index.js';
import { instant, isBefore } from '../instant.js';
import { identifier, storableText } from '../storable-text.js';

/** What an event says of an appointment, and what is stored of the one that stands. */
export interface AppointmentChange {
  /** Grows with every change that the sender makes; a whole number from 0. */
  readonly version: number;
  readonly status: AppointmentStatus;
  /** Both in the spelling of `instant`. */
  readonly startsAt: string;
  readonly endsAt: string;
  readonly title: string;
}

export type AppointmentStatus = 'created' | 'rescheduled' | 'canceled';

export interface AppointmentFact extends AppointmentChange {
  readonly appointmentId: string;
}

/** In characters, as JavaScript counts them. */
const MAX_TITLE_LENGTH = 1_000;

const STATUS_OF = {
  'appointment.created': 'created',
  'appointment.rescheduled': 'rescheduled',
  'appointment.canceled': 'canceled',
} as const satisfies Readonly<Record<string, AppointmentStatus>>;

const payload = z.object({
  type: z.enum(['appointment.created', 'appointment.rescheduled', 'appointment.canceled']),
  data: z
    .object({
      appointment_id: identifier,
      version: z.int().nonnegative(),
      starts_at: instant,
      ends_at: instant,
      title: storableText.max(MAX_TITLE_LENGTH),
    })
    .refine(({ starts_at, ends_at }) => !isBefore(ends_at, starts_at)),
});

/**
 * Reads the fact; null when the payload is not one, or its own type, which the signature covers, is not the event's.
 * Nothing is coerced; fields that are not ours are left alone.
 */
export function readAppointment(event: Pick<WebhookEvent, 'type' | 'payload'>): AppointmentFact | null {
  const parsed = payload.safeParse(event.payload);
  if (!parsed.success || parsed.data.type !== event.type) return null;
  const { appointment_id: appointmentId, version, starts_at: startsAt, ends_at: endsAt, title } = parsed.data.data;
  return { appointmentId, version, status: STATUS_OF[parsed.data.type], startsAt, endsAt, title };
}

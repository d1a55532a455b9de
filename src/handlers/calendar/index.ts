import { defineHandlers, type HandlerSet } from '../../api/index.js';
import { appointmentChanged, type CalendarOptions } from './appointment-changed.js';

export type { CalendarOptions } from './appointment-changed.js';

/** The built-in `calendar` set, over the table `calendar_entries`; written against the public API only. */
export function calendarHandlers(options: CalendarOptions): HandlerSet {
  const handler = appointmentChanged(options);
  return defineHandlers({
    'appointment.created': handler,
    'appointment.rescheduled': handler,
    'appointment.canceled': handler,
  });
}

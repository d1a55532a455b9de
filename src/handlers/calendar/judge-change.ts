import type { AppointmentChange } from './appointment.js';

/** What an arriving change is beside the one that stands. */
export type ChangeVerdict =
  | 'stands'
  /** Another one stands before it, whichever came first. */
  | 'superseded'
  | 'duplicate'
  /** The sender gave one version to two changes. */
  | 'version_conflict';

/**
 * Which of two changes of one appointment stands: a cancel before anything else, then the higher version. Both halves
 * are needed for one end in any order of arrival: were a cancel to lose against a higher version that came before it,
 * and to win against the same one coming after it, the order would decide. As it is, changes are totally ordered, what
 * stands is the greatest that ever arrived, and nothing else about the order is remembered.
 *
 * One version that says two things has no right order: what came first stays, and a person decides. Pure.
 */
export function judgeChange(standing: AppointmentChange, arriving: AppointmentChange): ChangeVerdict {
  if (arriving.version === standing.version) return isSame(standing, arriving) ? 'duplicate' : 'version_conflict';
  const isCancel = arriving.status === 'canceled';
  if (isCancel !== (standing.status === 'canceled')) return isCancel ? 'stands' : 'superseded';
  return arriving.version > standing.version ? 'stands' : 'superseded';
}

function isSame(a: AppointmentChange, b: AppointmentChange): boolean {
  return a.status === b.status && a.startsAt === b.startsAt && a.endsAt === b.endsAt && a.title === b.title;
}

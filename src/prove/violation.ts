import type { Difference, End } from './end.js';

/** What is wrong with a schedule. */
export type Violation =
  /** Its end is another one than the events have in their own order. */
  | { readonly kind: 'end'; readonly differences: readonly Difference[]; readonly expected: End }
  /** An invariant did not hold after a commit. */
  | { readonly kind: 'invariant'; readonly name: string; readonly text: string }
  /** PostgreSQL ended one of two transactions that waited for each other (SQLSTATE 40P01). */
  | { readonly kind: 'deadlock' }
  /** A handler opened a connection or changed the stand-ins' books before its transaction was committed. */
  | { readonly kind: 'outside_call'; readonly text: string }
  /** A handler threw, hung or answered nonsense, until its event was quarantined. */
  | { readonly kind: 'defect'; readonly text: string };

/** One sentence each, as a headline. */
export function headlineOf(violation: Violation): string {
  switch (violation.kind) {
    case 'end':
      return 'the events have another end when they arrive like this';
    case 'invariant':
      return `the invariant "${violation.name}" does not hold`;
    case 'deadlock':
      return 'two transactions lock the same rows in different order (deadlock, SQLSTATE 40P01)';
    case 'outside_call':
      return 'a handler acts outside before its transaction is committed';
    case 'defect':
      return 'a handler fails';
  }
}

/** Whether two violations are the same mistake, as far as shrinking goes. */
export function isSameViolation(a: Violation, b: Violation): boolean {
  if (a.kind === 'invariant') return b.kind === 'invariant' && a.name === b.name;
  return a.kind === b.kind;
}

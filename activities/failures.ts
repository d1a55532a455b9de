import { ApplicationFailure, type ApplicationFailureOptions } from '@temporalio/common';
import { errorCode, errorKind } from '../src/db/error-kinds.js';
import { HandlerDefectError, OncehookError } from '../src/errors.js';

/** Failure types that the workflow tells apart. */
const INFRASTRUCTURE = 'infrastructure';
export const DEFECT = 'defect';

/** What a defect tells the workflow besides its code. */
export interface DefectDetails {
  readonly code: string;
  /** How long to wait before the next try, in milliseconds. */
  readonly delayMs: number;
}

/** Pauses after the first four defects, in milliseconds; the fifth comes within about two minutes and is the last. */
const DEFECT_DELAYS_MS = [2_000, 10_000, 30_000, 60_000];

/**
 * The one table from errors to Temporal: infrastructure is retried by Temporal, a defect is not, and the workflow
 * counts it. Histories get a code and our own sentence, never the text of a database or provider, which quotes values.
 * @param defects how many this run has met before.
 */
export function toActivityFailure(error: unknown, defects = 0): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  const code = error instanceof OncehookError ? error.code : errorCode(error);
  if (isDefect(error)) {
    const details: DefectDetails = { code, delayMs: DEFECT_DELAYS_MS[defects] ?? 0 };
    return withoutStack({
      message: `The handler failed (${code}); its text is in the inbox row's last_error`,
      type: DEFECT,
      nonRetryable: true,
      details: [details],
    });
  }
  return withoutStack({
    message: `Something that oncehook stands on failed (${code}); trying again`,
    type: INFRASTRUCTURE,
    nonRetryable: false,
    details: [{ code }],
  });
}

/** Frames name files of the machine and help nobody in a history; the log has those of the error itself. */
function withoutStack(options: ApplicationFailureOptions): ApplicationFailure {
  const failure = ApplicationFailure.create(options);
  failure.stack = '';
  return failure;
}

/** What a defect's failure carries; `null` for every other failure. */
export function defectDetails(failure: ApplicationFailure): DefectDetails | null {
  if (failure.type !== DEFECT) return null;
  const [details] = failure.details ?? [];
  return (details ?? null) as DefectDetails | null;
}

function isDefect(error: unknown): boolean {
  return error instanceof HandlerDefectError || errorKind(error) === 'defect';
}

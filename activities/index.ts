import type {
  ApplyEventInput,
  ApplyEventResult,
  DiscardEventInput,
  PerformOperationResult,
  QuarantineEventInput,
} from '../src/domain/outcome.js';
import { HOW_TO_GRANT } from '../src/db/check-privileges.js';
import { lacksPrivilege } from '../src/db/error-kinds.js';
import type { ProcessOperationInput } from '../src/domain/operation.js';
import { recordDefect, recordTrouble } from '../src/inbox/finish-event.js';
import { DeadlineError } from '../src/errors.js';
import type { Logger } from '../src/observability/logger.js';
import { createTroubleWatch, type TroubleWatch } from '../src/observability/trouble-watch.js';
import { applyEvent, type ApplyEventDeps } from './apply-event.js';
import { DEFECT, defectDetails, toActivityFailure } from './failures.js';
import { discardEvent, quarantineEvent, type DiscardResult } from './quarantine-event.js';

export type { DiscardResult } from './quarantine-event.js';

export interface ActivityDeps extends ApplyEventDeps {
  /** One attempt of an external effect, with its ledger. */
  readonly performOperation: (input: ProcessOperationInput) => Promise<PerformOperationResult>;
  readonly log: Logger;
}

/** The border to Temporal: keys in, a tagged outcome out, every error translated by the one table. */
export interface Activities {
  applyEvent(input: ApplyEventInput): Promise<ApplyEventResult>;
  quarantineEvent(input: QuarantineEventInput): Promise<ApplyEventResult>;
  discardEvent(input: DiscardEventInput): Promise<DiscardResult>;
  performOperation(input: ProcessOperationInput): Promise<PerformOperationResult>;
}

const LACKS_PRIVILEGE = `activity failed: the database refused the role of DATABASE_URL; ${HOW_TO_GRANT}`;

export function createActivities(deps: ActivityDeps): Activities {
  const trouble = createTroubleWatch(deps.log, deps.metrics);
  return {
    applyEvent: (input) =>
      translated(deps, trouble, 'applyEvent', input, async () => {
        try {
          return await applyEvent(deps, input);
        } catch (error) {
          await keepText(deps, input, error);
          throw error;
        }
      }),
    quarantineEvent: (input) => translated(deps, trouble, 'quarantineEvent', input, () => quarantineEvent(deps, input)),
    discardEvent: (input) => translated(deps, trouble, 'discardEvent', input, () => discardEvent(deps, input)),
    performOperation: (input) =>
      translated(deps, trouble, 'performOperation', input, () => deps.performOperation(input)),
  };
}

async function translated<Result>(
  deps: ActivityDeps,
  trouble: TroubleWatch,
  activity: keyof Activities,
  input: {
    readonly scope?: string;
    readonly eventId?: string;
    readonly operationKey?: string;
    readonly defects?: number;
  },
  body: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await body();
    trouble.succeeded();
    return result;
  } catch (error) {
    const failure = toActivityFailure(error, input.defects);
    const { scope, eventId, operationKey } = input;
    const fields = { activity, scope, eventId, operationKey, err: error };
    if (failure.type === DEFECT) deps.log.error(fields, 'activity met a defect');
    else {
      trouble.failed();
      deps.metrics.infrastructureErrors.inc({ where: activity });
      if (lacksPrivilege(error)) deps.log.error(fields, `${LACKS_PRIVILEGE}; it will be tried again`);
      else deps.log.warn(fields, 'activity failed by its infrastructure; it will be tried again');
    }
    throw failure;
  }
}

/**
 * Keeps the text of a defect, or of a provider that cannot be asked, in the application's own database, best effort: the
 * run counts the one and waits for the other either way.
 */
async function keepText(deps: ActivityDeps, input: ApplyEventInput, error: unknown): Promise<void> {
  const details = defectDetails(toActivityFailure(error, input.defects));
  const text = (error instanceof Error ? error.message : String(error)).slice(0, 2_000);
  if (details !== null) deps.metrics.handlerRuns.inc({ source: 'all', result: 'defect' });
  else if (!(error instanceof DeadlineError)) return;
  try {
    if (details === null) await recordTrouble(deps.pool, input, text);
    else await recordDefect(deps.pool, input, { text, delayMs: details.delayMs });
  } catch (cause) {
    deps.log.warn({ scope: input.scope, eventId: input.eventId, err: cause }, "could not keep an error's text");
  }
}

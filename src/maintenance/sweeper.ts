import type { Pool } from 'pg';
import type { CheckpointHook } from '../checkpoints.js';
import type { EventKey, ProcessWebhookEventInput } from '../domain/event.js';
import { claimDueEvents, returnClaims, scopesWithDueEvents, type ClaimedEvent } from '../inbox/claim-due.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';

/** An operation that its run left behind, or that an application asked for. */
export interface ClaimedOperation {
  readonly operationKey: string;
  /** The event that called for it; null when an application asked. */
  readonly event: ProcessWebhookEventInput | null;
}

export interface SweeperDeps {
  readonly pool: Pool;
  readonly startEvent: (event: ProcessWebhookEventInput) => Promise<void>;
  readonly startOperation: (operationKey: string) => Promise<void>;
  readonly claimOperations: (limit: number) => Promise<readonly ClaimedOperation[]>;
  /** Puts claimed operations back as due at once. */
  readonly returnOperations: (operationKeys: readonly string[]) => Promise<void>;
  /** Whether an error of a start means that Temporal is not there, rather than that it refused this one. */
  readonly isUnanswered: (error: unknown) => boolean;
  /** How often the run's workflow task has failed in a row; 0 when it is healthy or gone. */
  readonly failedTaskAttempts: (event: EventKey) => Promise<number>;
  /** Quarantines the event and terminates its run. */
  readonly giveUpOnRun: (event: EventKey) => Promise<void>;
  readonly checkpoints: CheckpointHook;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** What one look did. */
export interface SweepCounts {
  readonly events: number;
  readonly operations: number;
  readonly started: number;
  /** Claims given back because Temporal did not answer. */
  readonly returned: number;
}

export interface Sweeper {
  /**
   * Claims at most `limit` due rows, fairly between scopes, and starts their workflows. Several sweepers may run at
   * once; what one has claimed the others pass by.
   */
  runOnce(limit: number): Promise<SweepCounts>;
}

/** A workflow task that failed this often in a row is broken code, not bad luck. */
const STUCK_ATTEMPTS = 10;

/** Starts under way at once. */
const CONCURRENCY = 8;

/** Effects are not starved by a backlog of events: this part of a look is theirs. */
const OPERATIONS_SHARE = 0.25;

export function createSweeper(deps: SweeperDeps): Sweeper {
  let lastScope = '';

  const claimEvents = async (limit: number): Promise<readonly ClaimedEvent[]> => {
    const scopes = await scopesWithDueEvents(deps.pool, lastScope, limit);
    if (scopes.length === 0) return [];
    const events = await claimDueEvents(deps.pool, scopes, Math.max(1, Math.floor(limit / scopes.length)));
    lastScope = scopes.at(-1) ?? '';
    return events;
  };

  return {
    runOnce: async (limit) => {
      const operations = await deps.claimOperations(Math.max(1, Math.floor(limit * OPERATIONS_SHARE)));
      const events = await claimEvents(Math.max(1, limit - operations.length));
      count(deps.metrics, events.length, operations.length);
      if (events.length + operations.length > 0) await deps.checkpoints('sweeper.after-claim');
      const sweptEvents = await startAll(events, (event) => startEvent(deps, event));
      const sweptOperations = await startAll(operations, (operation) => startOperation(deps, operation));
      await returnUnanswered(deps, sweptEvents.unanswered, sweptOperations.unanswered);
      return {
        events: events.length,
        operations: operations.length,
        started: sweptEvents.started + sweptOperations.started,
        returned: sweptEvents.unanswered.length + sweptOperations.unanswered.length,
      };
    },
  };
}

async function returnUnanswered(
  deps: SweeperDeps,
  events: readonly ClaimedEvent[],
  operations: readonly ClaimedOperation[],
): Promise<void> {
  if (events.length > 0) await returnClaims(deps.pool, events);
  if (operations.length > 0) await deps.returnOperations(operations.map(({ operationKey }) => operationKey));
}

type StartResult = 'started' | 'refused' | 'unanswered';

interface Swept<Item> {
  readonly started: number;
  /** What Temporal did not answer, and all that was not tried after it. */
  readonly unanswered: readonly Item[];
}

/** Starts in order, a few at a time; after the first start without an answer nothing further is tried. */
async function startAll<Item>(
  items: readonly Item[],
  start: (item: Item) => Promise<StartResult>,
): Promise<Swept<Item>> {
  const queue = [...items];
  const unanswered: Item[] = [];
  let started = 0;
  const lane = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      const result = unanswered.length > 0 ? 'unanswered' : await start(item);
      if (result === 'unanswered') unanswered.push(item);
      if (result === 'started') started += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  return { started, unanswered };
}

async function startEvent(deps: SweeperDeps, claimed: ClaimedEvent): Promise<StartResult> {
  const { scope, eventId, eventType, dispatchedBefore } = claimed;
  const result = await tryStart(deps, { scope, eventId }, () => deps.startEvent({ scope, eventId, eventType }));
  if (result === 'started' && dispatchedBefore) await endStuckRun(deps, claimed);
  return result;
}

function startOperation(deps: SweeperDeps, { operationKey, event }: ClaimedOperation): Promise<StartResult> {
  return tryStart(deps, { operationKey }, () =>
    event === null ? deps.startOperation(operationKey) : deps.startEvent(event),
  );
}

async function tryStart(
  { isUnanswered, log, metrics }: SweeperDeps,
  names: Readonly<Record<string, string>>,
  start: () => Promise<void>,
): Promise<StartResult> {
  try {
    await start();
    metrics.starts.inc({ by: 'sweeper', result: 'started' });
    return 'started';
  } catch (error) {
    metrics.starts.inc({ by: 'sweeper', result: 'failed' });
    if (isUnanswered(error)) {
      log.debug({ ...names, err: error }, 'Temporal did not answer a start');
      return 'unanswered';
    }
    // The claim stands and its pauses grow, so one row that cannot be started does not hold up the others.
    log.error({ ...names, err: error }, 'Temporal refused a start');
    return 'refused';
  }
}

/** Best effort: a run that is stuck now is stuck at the next claim too. */
async function endStuckRun(deps: SweeperDeps, { scope, eventId }: EventKey): Promise<void> {
  try {
    if ((await deps.failedTaskAttempts({ scope, eventId })) < STUCK_ATTEMPTS) return;
    await deps.giveUpOnRun({ scope, eventId });
    deps.log.error({ scope, eventId, reason: 'workflow_stuck' }, 'run terminated: its workflow task kept failing');
  } catch (error) {
    deps.log.warn({ scope, eventId, err: error }, 'could not look whether a run is stuck');
  }
}

function count(metrics: Metrics, events: number, operations: number): void {
  metrics.sweeperDue.set({ what: 'events' }, events);
  metrics.sweeperDue.set({ what: 'operations' }, operations);
  if (events > 0) metrics.sweeperClaims.inc({ what: 'events' }, events);
  if (operations > 0) metrics.sweeperClaims.inc({ what: 'operations' }, operations);
}

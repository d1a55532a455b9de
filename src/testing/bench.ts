import { randomBytes } from 'node:crypto';
import type { FetchedObject, HandlerSet } from '../api/handlers.js';
import type { AnyOperationDefinition } from '../api/operations.js';
import type { EventKey, InboxOutcome } from '../domain/event.js';
import type { FetchReference } from '../domain/outcome.js';
import { NO_BRAKE, type EffectMode } from '../operations/brake.js';
import { createProcessing, performAll, readOperations, type OperationView } from './processing.js';
import { rememberTables } from './reset-tables.js';
import { openScratchDatabase, type ScratchDatabase, type TestDatabase } from './scratch-database.js';
import type { DeliveryKind, Sequence } from './sequences.js';
import { withStandIns } from './stand-in-operations.js';
import { completeEvent, copyOf, type CompleteEvent, type DeliverableEvent } from './test-event.js';

export interface WebhookBenchOptions {
  /** A database of the server to use; the bench makes one of its own beside it. */
  readonly databaseUrl: string;
  readonly handlers: HandlerSet;
  /** One's own kinds; built-in kinds that are not among them are confirmed by a stand-in, and nothing goes out. */
  readonly operations?: readonly AnyOperationDefinition[];
  /** Makes the application's tables, once. */
  readonly setup?: (db: TestDatabase) => unknown;
  /** The provider for handlers that ask for `fetchFirst`; nobody can be asked by default. */
  readonly fetch?: (reference: FetchReference) => FetchedObject | Promise<FetchedObject>;
  /** The configured brake of a kind; `auto` by default. */
  readonly modeOf?: (kind: string) => EffectMode;
  /** `default` by default. */
  readonly tenant?: string;
  /** Configured name of the source; `stripe` by default. */
  readonly source?: string;
  /** Of events that name none; `stripe:default:test` by default. */
  readonly scope?: string;
}

/** Where an event stands after a delivery or a further run. */
export interface EventResult {
  readonly scope: string;
  readonly eventId: string;
  readonly type: string;
  /** Whether this delivery stored the event or found it stored; null for a further run. */
  readonly delivery: 'stored' | 'duplicate' | null;
  readonly status: 'done' | 'waiting' | 'quarantined';
  /** Set when `status` is `done`. */
  readonly outcome: InboxOutcome | null;
  /** Why it waits or is quarantined, or was ignored. */
  readonly reason: string | null;
  /** Runs of the handlers so far. */
  readonly attempts: number;
  /** What this event was the first to call for. */
  readonly operations: readonly OperationView[];
  /** What a handler threw, when it did in this run. */
  readonly defect: unknown;
}

/** Handlers on a real PostgreSQL, run by the code that a worker runs, without Temporal. */
export interface WebhookBench {
  readonly db: TestDatabase;
  /** Stores an event and runs its handlers once, as a worker would. The same object again is the same event. */
  readonly deliver: (event: DeliverableEvent) => Promise<EventResult>;
  /** The same event once more, as senders do. */
  readonly deliverAgain: (event: DeliverableEvent) => Promise<EventResult>;
  /** The same content under a new event ID. */
  readonly deliverCopy: (event: DeliverableEvent) => Promise<EventResult>;
  /** Delivers one after the other, then runs what waits until nothing changes. */
  readonly deliverAll: (sequence: Sequence<DeliverableEvent>) => Promise<readonly EventResult[]>;
  /** Runs the events that wait once more. */
  readonly runWaiting: () => Promise<readonly EventResult[]>;
  /** Lets the time of the events that wait run out: the provider is asked once, then they are quarantined. */
  readonly runToHorizon: () => Promise<readonly EventResult[]>;
  /** Performs what is planned, each to its end; the time between attempts passes at once. */
  readonly performOperations: () => Promise<readonly OperationView[]>;
  readonly operations: () => Promise<readonly OperationView[]>;
  readonly events: () => Promise<readonly EventResult[]>;
  /** Brings every table and sequence back to what it was after `setup`. */
  readonly reset: () => Promise<void>;
  /** Drops the database. */
  readonly close: () => Promise<void>;
}

/** Beyond the horizon of any wait, in milliseconds. */
const PAST_HORIZON_MS = 2 * 3_600_000;

/**
 * Opens a bench with a database of its own.
 * @throws DatabaseUnusableError with the next step, when there is no server or no right to make a database
 */
export async function openWebhookBench(options: WebhookBenchOptions): Promise<WebhookBench> {
  const { databaseUrl, setup } = options;
  const database = await openScratchDatabase({ databaseUrl, ...(setup === undefined ? {} : { setup }) });
  try {
    return await benchOn(database, options);
  } catch (error) {
    await database.drop();
    throw error;
  }
}

async function benchOn(database: ScratchDatabase, options: WebhookBenchOptions): Promise<WebhookBench> {
  const { modeOf = () => 'auto' } = options;
  const { pool } = database;
  const reset = await rememberTables(pool);
  const scope = options.scope ?? 'stripe:default:test';
  const processing = createProcessing({
    applyPool: pool,
    pool,
    source: options.source ?? 'stripe',
    tenant: options.tenant ?? 'default',
    handlers: options.handlers,
    operations: withStandIns(options.operations ?? []),
    fetch: options.fetch ?? (() => ({ kind: 'unavailable' })),
    brakeOf: (kind) => ({ ...NO_BRAKE, mode: modeOf(kind) }),
  });

  // One object is one event, also where the test gives no ID.
  const known = new WeakMap<DeliverableEvent, CompleteEvent>();
  const complete = (event: DeliverableEvent): CompleteEvent => {
    const found = known.get(event) ?? completeEvent(event, { id: newId(), scope });
    known.set(event, found);
    return found;
  };

  const deliver = async (event: CompleteEvent): Promise<EventResult> => {
    const delivery = (await processing.store(event)) === 'inserted' ? 'stored' : 'duplicate';
    // A duplicate starts nothing: what its first delivery started goes on by itself.
    const defect = delivery === 'stored' ? (await processing.apply(event)).defect : null;
    return { ...(await readEvent(database, event)), delivery, defect };
  };
  const deliverAs = (event: DeliverableEvent, as: DeliveryKind): Promise<EventResult> =>
    deliver(as === 'copy' ? copyOf(complete(event), newId()) : complete(event));

  const runWaiting = async (): Promise<readonly EventResult[]> => {
    const results: EventResult[] = [];
    for (const key of await readKeys(database, 'pending')) {
      const { defect } = await processing.apply(key);
      results.push({ ...(await readEvent(database, key)), defect });
    }
    return results;
  };

  return {
    db: database,
    deliver: (event) => deliverAs(event, 'first'),
    deliverAgain: (event) => deliverAs(event, 'again'),
    deliverCopy: (event) => deliverAs(event, 'copy'),
    deliverAll: async ({ deliveries }) => {
      for (const { event, as } of deliveries) await deliverAs(event, as);
      for (let before = -1, waiting = 0; before !== waiting;) {
        before = waiting;
        waiting = (await runWaiting()).filter(({ status }) => status === 'waiting').length;
      }
      return readEvents(database);
    },
    runWaiting,
    runToHorizon: async () => {
      await processing.age(PAST_HORIZON_MS);
      return runWaiting();
    },
    performOperations: async () => {
      await performAll(processing, pool);
      return readOperations(pool);
    },
    operations: () => readOperations(pool),
    events: () => readEvents(database),
    reset,
    close: () => database.drop(),
  };
}

function newId(): string {
  return `evt_${randomBytes(12).toString('hex')}`;
}

async function readKeys({ pool }: TestDatabase, status: 'pending' | null): Promise<readonly EventKey[]> {
  const { rows } = await pool.query<EventKey>(
    `select source_scope as scope, event_id as "eventId"
       from oncehook.webhook_inbox
      where $1::text is null or status = $1
      order by received_at, event_id`,
    [status],
  );
  return rows;
}

async function readEvents(database: TestDatabase): Promise<readonly EventResult[]> {
  const results: EventResult[] = [];
  for (const key of await readKeys(database, null)) results.push(await readEvent(database, key));
  return results;
}

async function readEvent({ pool }: TestDatabase, { scope, eventId }: EventKey): Promise<EventResult> {
  const { rows } = await pool.query<Pick<EventResult, 'type' | 'status' | 'outcome' | 'reason' | 'attempts'>>(
    `select event_type as type,
            case status when 'pending' then 'waiting' else status end as status,
            outcome,
            case status when 'pending' then last_error else reason end as reason,
            attempts
       from oncehook.webhook_inbox
      where source_scope = $1
        and event_id = $2`,
    [scope, eventId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`The event ${eventId} is not in the inbox: was its table emptied?`);
  const operations = await readOperations(pool, { scope, eventId });
  return { scope, eventId, ...row, delivery: null, operations, defect: null };
}

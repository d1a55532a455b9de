import type { Pool, PoolClient } from 'pg';
import type { Handler, HandlerSet, WebhookEvent } from '../src/api/handlers.js';
import type { CheckpointHook } from '../src/checkpoints.js';
import { inTransaction } from '../src/db/transaction.js';
import type { EventKey, InboxOutcome } from '../src/domain/event.js';
import type {
  ApplyEventInput,
  ApplyEventResult,
  FetchedObject,
  FetchReference,
  HandlerOutcome,
  OperationSummary,
  OperatorRequest,
  PlannedOperation,
} from '../src/domain/outcome.js';
import { SHADOW_REASON, type ShadowOperation } from '../src/domain/shadow.js';
import { nextWaitMs, type WaitPolicy } from '../src/domain/wait-schedule.js';
import { HandlerDefectError } from '../src/errors.js';
import { markDone, markQuarantined, markWaiting, restartBudget } from '../src/inbox/finish-event.js';
import { isToldByTwin, lockEvent, type InboxRow } from '../src/inbox/read-event.js';
import { recordOperatorAction, wasCarriedOut } from '../src/inbox/record-operator-action.js';
import type { Metrics } from '../src/observability/metrics.js';
import type { PlanResult } from '../src/operations/plan-operations.js';
import { endInShadow, type WouldBe } from './end-in-shadow.js';
import {
  createFetchedObjects,
  fetchObjects,
  type FetchAsk,
  type FetchedObjects,
  type FetchRequest,
} from './fetch-objects.js';
import { runHandlers, type CombinedOutcome, type RunMode } from './run-handlers.js';

/** A configured source as the apply step needs it. */
export interface ApplySource {
  readonly handlers: HandlerSet;
  /** Whose event this is, as configuration says today; a replay must not slip past what refused the event on receipt. */
  readonly admit: (scope: string) => Admission;
  /** Events that happened before it are stored, not acted on. */
  readonly activeFrom: Date | null;
  /** Decide, record, and do nothing; the events end as done/ignored, reason `shadow`. */
  readonly shadow?: boolean;
  /** Asks the provider for an object; never called inside a transaction. */
  readonly fetch: (scope: string, reference: FetchReference) => Promise<FetchedObject>;
  /** For senders whose events may name their object instead of carrying it: what to fetch before a handler can run. */
  readonly readReference?: (payload: unknown) => ReferringEvent | undefined;
}

/** An event that names its object. */
export interface ReferringEvent {
  /** The type of the event that carries the object, under which handlers are registered. */
  readonly snapshotType: string;
  readonly related: FetchReference;
  /** The payload as the carrying event would have it. */
  readonly withObject: (object: unknown) => unknown;
}

export type Admission =
  | { readonly kind: 'tenant'; readonly tenant: string }
  | { readonly kind: 'refused'; readonly reason: 'account_mismatch' | 'mode_mismatch' };

export interface ApplyEventDeps {
  readonly pool: Pool;
  readonly sources: ReadonlyMap<string, ApplySource>;
  readonly wait: WaitPolicy;
  /** Writes the operations that an outcome calls for; `conflict` when one exists with other parameters. */
  readonly plan: (
    tx: PoolClient,
    event: EventKey,
    tenant: string,
    operations: readonly PlannedOperation[],
  ) => Promise<PlanResult>;
  readonly operationsOf: (tx: PoolClient, event: EventKey) => Promise<readonly OperationSummary[]>;
  /** Whether the cluster knows our search attributes; travels in the result so that histories replay alike. */
  readonly searchAttributes: () => boolean;
  readonly checkpoints: CheckpointHook;
  readonly metrics: Metrics;
}

/**
 * Fetch-first may build on what it fetched (a thin event's dispute, its charge, its payment, that one's refunds); more
 * rounds than this are a loop.
 */
const MAX_FETCH_ROUNDS = 5;

type Step =
  | { readonly kind: 'answer'; readonly result: ApplyEventResult }
  | { readonly kind: 'fetch'; readonly source: ApplySource; readonly request: FetchRequest };

/** What one transaction of the apply step works on: the locked row, and what was asked and fetched for it. */
interface Run {
  readonly deps: ApplyEventDeps;
  readonly tx: PoolClient;
  readonly key: EventKey;
  readonly row: InboxRow;
  /** An operator's request that this run carries out, once. */
  readonly replay: OperatorRequest | null;
  readonly fetched: FetchedObjects;
}

/** A run whose source is configured and has said whose event it is. */
interface AdmittedRun extends Run {
  readonly source: ApplySource;
  readonly tenant: string;
}

/** What becomes of the event; in shadow mode it is recorded instead, with the operations, which else are planned. */
type Decision = WouldBe & { readonly outcome: Exclude<WouldBe['outcome'], 'defect'> };

/**
 * The event's business change and its inbox outcome in one transaction. Safe to run any number of times, alone or
 * beside itself: the row's lock decides, and a finished row is only reported.
 * @throws HandlerDefectError or what the database or provider threw; the caller tells them apart by the error table.
 */
export async function applyEvent(deps: ApplyEventDeps, input: ApplyEventInput): Promise<ApplyEventResult> {
  const fetched = createFetchedObjects();
  for (let round = 0; round <= MAX_FETCH_ROUNDS; round += 1) {
    const step = await inTransaction(deps.pool, (tx) => decide(deps, tx, input, fetched));
    if (step.kind === 'answer') {
      await deps.checkpoints('apply.after-commit');
      return step.result;
    }
    await fetchObjects(deps.pool, step.request, step.source.fetch, fetched);
  }
  throw new HandlerDefectError('handler_nonsense', `The handler asked to fetch more than ${MAX_FETCH_ROUNDS} times`);
}

/** One transaction, from the row's lock to the row's new status. */
async function decide(
  deps: ApplyEventDeps,
  tx: PoolClient,
  input: ApplyEventInput,
  fetched: FetchedObjects,
): Promise<Step> {
  const row = await lockEvent(tx, input);
  if (row === undefined) return answer({ kind: 'missing' });
  const key: EventKey = { scope: input.scope, eventId: input.eventId };
  const replay = await replayToCarryOut(tx, input);
  if (row.status === 'done') return reportDone({ deps, tx, key, row, replay, fetched }, row);
  if (row.status === 'quarantined' && replay === null) return answer(quarantinedResult(deps, row));
  if (replay === null) return process({ deps, tx, key, row, replay, fetched });
  await restartBudget(tx, key);
  return process({ deps, tx, key, row: { ...row, waitedMs: 0 }, replay, fetched });
}

async function process(run: Run): Promise<Step> {
  const { deps, row } = run;
  const source = deps.sources.get(row.source);
  if (source === undefined) return quarantine(run, 'source_not_configured', 0);
  if (isBeforeActive(row, source)) return finish(run, 'ignored', 'before_active_from', 0);
  if (row.payloadText === null) return conclude(run, source, unheard('quarantine', 'payload_expired'));
  const admission = source.admit(run.key.scope);
  if (admission.kind === 'refused') return conclude(run, source, unheard('quarantine', admission.reason));
  return processAdmitted({ ...run, source, tenant: admission.tenant }, row.payloadText);
}

async function processAdmitted(run: AdmittedRun, payloadText: string): Promise<Step> {
  const { row, source, tenant } = run;
  if (source.readReference !== undefined && (await isToldByTwin(run.tx, run.key, row.twinEventId, modeOf(source)))) {
    return conclude(run, source, unheard('duplicate', 'twin_event'));
  }

  const payload = JSON.parse(payloadText) as unknown;
  const referring = source.readReference?.(payload);
  const type = referring?.snapshotType ?? row.eventType;
  const handlers = source.handlers.handlers.get(type) ?? [];
  if (handlers.length === 0) return conclude(run, source, unheard('ignored', null));
  const complete = referring === undefined ? { payload } : completePayload(run, referring);
  if ('missing' in complete) {
    return complete.missing === 'not_asked'
      ? fetchStep(run, [{ references: [complete.reference] }])
      : conclude(run, source, unheard('quarantine', complete.missing));
  }
  return runOn(run, handlers, toWebhookEvent(run, { type, tenant, payloadText, payload: complete.payload }));
}

async function runOn(run: AdmittedRun, handlers: readonly Handler[], event: WebhookEvent): Promise<Step> {
  const { deps, row, source } = run;
  const planned: OperationSummary[] = [];
  const plan = async (operations: readonly PlannedOperation[]): Promise<PlanResult> => {
    const result = await deps.plan(run.tx, run.key, event.tenant, operations);
    if (result.kind === 'planned') planned.push(...result.operations);
    return result;
  };
  const outcome = await runHandlers(handlers, event, run.tx, plan, modeOf(source));
  deps.metrics.handlerRuns.inc({ source: row.source, result: outcome.kind });
  await deps.checkpoints('apply.in-transaction');
  const step = await settle(run, outcome, planned);
  await deps.checkpoints('apply.before-commit');
  return step;
}

type CompletePayload =
  | { readonly payload: unknown }
  | { readonly missing: 'not_asked' | 'object_missing' | 'object_unavailable'; readonly reference: FetchReference };

/** The payload with the object that the event names, which is fetched outside the transaction first. */
function completePayload(run: Run, { related: reference, withObject }: ReferringEvent): CompletePayload {
  const fetched = run.fetched.get(reference);
  switch (fetched?.kind) {
    case undefined:
      return { missing: 'not_asked', reference };
    case 'missing':
      return { missing: 'object_missing', reference };
    case 'unavailable':
      return { missing: 'object_unavailable', reference };
    case 'found':
      return { payload: withObject(fetched.object) };
  }
}

function modeOf(source: ApplySource): RunMode {
  return source.shadow === true ? 'shadow' : 'live';
}

function fetchStep({ source, tenant, key }: AdmittedRun, asks: readonly FetchAsk[]): Step {
  return { kind: 'fetch', source, request: { asks, scope: key.scope, tenant } };
}

/** What is decided before any handler has run. */
function unheard(outcome: Decision['outcome'], reason: string | null): Decision {
  return { outcome, reason, handlerRuns: 0 };
}

/** Turns the handlers' outcome into the row's new state. */
function settle(run: AdmittedRun, outcome: CombinedOutcome, planned: readonly OperationSummary[]): Promise<Step> {
  const { source } = run;
  switch (outcome.kind) {
    case 'fetchFirst':
      return Promise.resolve(fetchStep(run, [outcome, ...(outcome.others ?? [])]));
    case 'wait':
      return waitOrGiveUp(run, outcome);
    case 'quarantine':
      return conclude(run, source, heard('quarantine', outcome.reason, outcome.orderId));
    case 'ignored':
      return conclude(run, source, heard('ignored', outcome.reason ?? null));
    case 'applied': {
      const operations = wouldBeOperations(outcome.operations, planned);
      return conclude(run, source, { ...heard('applied', null, outcome.orderId), operations });
    }
    case 'duplicate':
    case 'superseded':
      return conclude(run, source, heard(outcome.kind, null, outcome.orderId));
  }
}

function heard(outcome: Decision['outcome'], reason: string | null, orderId?: string): Decision {
  return { outcome, reason, handlerRuns: 1, orderId };
}

/** In the handlers' order, each once; those of a kind that is off were not planned. */
function wouldBeOperations(
  operations: readonly PlannedOperation[],
  planned: readonly OperationSummary[],
): readonly ShadowOperation[] {
  const byKey = new Map(operations.map((operation) => [operation.key, operation]));
  return [...byKey.values()].flatMap(({ key, kind, params }) => {
    const status = planned.find((summary) => summary.key === key)?.status;
    return status === undefined ? [] : [{ key, kind, params, status }];
  });
}

/**
 * Waits on the schedule; at the horizon the provider is asked once, and then a person. In shadow mode too: so the
 * decision that is recorded is the one that would have been made in the end.
 */
async function waitOrGiveUp(run: AdmittedRun, outcome: Extract<HandlerOutcome, { kind: 'wait' }>): Promise<Step> {
  const { deps, tx, key, row, source } = run;
  const delayMs = nextWaitMs(deps.wait, row.waitedMs);
  if (delayMs === null) {
    const { fetch } = outcome;
    if (fetch !== undefined && run.fetched.get(fetch) === undefined) return fetchStep(run, [{ references: [fetch] }]);
    return conclude(run, source, heard('quarantine', outcome.reason, outcome.orderId));
  }
  const attempts = await markWaiting(tx, key, { reason: outcome.reason, delayMs });
  await recordReplay(run, 'waiting');
  const searchAttributes = deps.searchAttributes();
  return answer({ kind: 'wait', reason: outcome.reason, attempts, delayMs, searchAttributes });
}

/** Writes the decision into the row, or, in shadow mode, beside it. */
async function conclude(run: Run, source: ApplySource, decision: Decision): Promise<Step> {
  const { outcome, reason, handlerRuns, orderId } = decision;
  if (source.shadow === true) {
    const attempts = await endInShadow(run.tx, run.key, run.row, decision, run.deps.metrics);
    await recordReplay(run, SHADOW_REASON);
    return reportDone({ ...run, replay: null }, { outcome: 'ignored', reason: SHADOW_REASON, attempts });
  }
  if (outcome !== 'quarantine') return finish(run, outcome, reason, handlerRuns);
  return quarantine(run, reason ?? 'unknown', handlerRuns, orderId);
}

async function finish(run: Run, outcome: InboxOutcome, reason: string | null, handlerRuns: 0 | 1): Promise<Step> {
  const attempts = await markDone(run.tx, run.key, { outcome, reason, handlerRuns });
  await recordReplay(run, outcome);
  return reportDone({ ...run, replay: null }, { outcome, reason, attempts });
}

async function quarantine(run: Run, reason: string, handlerRuns: 0 | 1, orderId?: string): Promise<Step> {
  const { deps, tx, key, row } = run;
  const attempts = await markQuarantined(tx, key, { reason, handlerRuns });
  await recordReplay(run, `quarantined:${reason}`);
  deps.metrics.quarantines.inc({ source: row.source, reason });
  return answer(quarantinedResult(deps, { reason, attempts }, orderId));
}

/** Reports a finished row as it stands, with its operations; an operator's replay of it is recorded as a no-op. */
async function reportDone(
  run: Run,
  row: { readonly outcome: InboxOutcome | null; readonly reason: string | null; readonly attempts: number },
): Promise<Step> {
  const { deps, tx, key } = run;
  await recordReplay(run, 'already_done');
  return answer({
    kind: 'done',
    // The schema promises an outcome on every done row.
    outcome: row.outcome ?? 'ignored',
    reason: row.reason,
    attempts: row.attempts,
    operations: await deps.operationsOf(tx, key),
    searchAttributes: deps.searchAttributes(),
  });
}

function quarantinedResult(
  deps: ApplyEventDeps,
  row: { readonly reason: string | null; readonly attempts: number },
  orderId?: string,
): ApplyEventResult {
  return {
    kind: 'quarantined',
    reason: row.reason ?? 'unknown',
    attempts: row.attempts,
    orderId: orderId ?? null,
    searchAttributes: deps.searchAttributes(),
  };
}

/** A request that an earlier try of this activity carried out and committed must not be carried out again. */
async function replayToCarryOut(tx: PoolClient, input: ApplyEventInput): Promise<OperatorRequest | null> {
  if (input.replay === null || (await wasCarriedOut(tx, input.replay.requestKey))) return null;
  return input.replay;
}

async function recordReplay(run: Run, result: string): Promise<void> {
  if (run.replay !== null) await recordOperatorAction(run.tx, run.key, 'replay', run.replay, result);
}

function isBeforeActive(row: InboxRow, source: ApplySource): boolean {
  if (source.activeFrom === null) return false;
  return (row.providerCreatedAt ?? row.receivedAt) < source.activeFrom;
}

function toWebhookEvent(
  { key, row, fetched }: Run,
  read: Pick<WebhookEvent, 'type' | 'tenant' | 'payloadText' | 'payload'>,
): WebhookEvent {
  return {
    scope: key.scope,
    eventId: key.eventId,
    source: row.source,
    receivedAt: row.receivedAt,
    providerCreatedAt: row.providerCreatedAt,
    ...read,
    fetched: fetched.get,
  };
}

function answer(result: ApplyEventResult): Step {
  return { kind: 'answer', result };
}

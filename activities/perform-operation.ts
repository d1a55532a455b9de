import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { AnyOperationDefinition, OperationAnswer, OperationContext } from '../src/api/operations.js';
import type { CheckpointHook } from '../src/checkpoints.js';
import { errorKind } from '../src/db/error-kinds.js';
import { isSettledForRun, type ProcessOperationInput } from '../src/domain/operation.js';
import type { PerformOperationResult } from '../src/domain/outcome.js';
import type { Logger } from '../src/observability/logger.js';
import type { Metrics } from '../src/observability/metrics.js';
import { amountOf, isEnabled, lookOnce, performOnce, prepareOnce, rulesOf } from '../src/operations/ask-definition.js';
import { beginAttempt, type BegunAttempt } from '../src/operations/begin-attempt.js';
import { HOURLY_CAP, heldBack, type Brake } from '../src/operations/brake.js';
import { startDeadline, type Deadline } from '../src/operations/deadline.js';
import { moveOperation } from '../src/operations/move-operation.js';
import { nextStep, stepAfterAbsence, type DecidedStep, type StepFacts } from '../src/operations/next-step.js';
import { parseParams } from '../src/operations/parse-params.js';
import { pauseScope } from '../src/operations/pauses.js';
import { readOperation, type OperationRow } from '../src/operations/read-operation.js';
import { recordAnswer } from '../src/operations/record-answer.js';
import type { OperationRegistry } from '../src/operations/registry.js';
import { spreadOf } from '../src/operations/retry-delay.js';
import {
  afterFailedLook,
  confirmed,
  lostNow,
  mayHaveHappened,
  resultOf,
  stopped,
  verdictOf,
  type OperationRules,
  type Verdict,
} from '../src/operations/verdict.js';

/** All in milliseconds. Together they stay below the activity's 15 s, also with a slow database around them. */
export interface AttemptLimits {
  /** For the look and the send of one attempt. */
  readonly attemptMs: number;
  /** For the look alone. */
  readonly lookMs: number;
  /** How long after the abort an attempt may still say what it knows. */
  readonly graceMs: number;
  /** How long storing its answer is tried. */
  readonly storeMs: number;
}

const ATTEMPT_LIMITS: AttemptLimits = { attemptMs: 10_000, lookMs: 4_000, graceMs: 1_000, storeMs: 3_000 };

export interface PerformOperationDeps {
  readonly pool: Pool;
  readonly registry: OperationRegistry;
  /** How far operations of a kind go without an operator, by today's configuration. */
  readonly brakeOf: (kind: string) => Brake;
  readonly checkpoints: CheckpointHook;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly limits?: AttemptLimits;
}

export type PerformOperation = (input: ProcessOperationInput) => Promise<PerformOperationResult>;

/** A worker without the operation's kind may be an old one beside a new one; the next try may meet the other. */
const UNKNOWN_KIND_MS = 60_000;
/** Another attempt or an operator moved the row between our look and our step. */
const OVERTAKEN_MS = 1_000;

/** One operation in the hands of one attempt. */
interface Job {
  readonly row: OperationRow;
  readonly definition: AnyOperationDefinition;
  readonly context: OperationContext<unknown>;
  readonly rules: OperationRules;
  readonly facts: StepFacts;
  readonly perHour: number | null;
}

interface PerformContext extends PerformOperationDeps {
  readonly limits: AttemptLimits;
  /** Says what only an operator can mend, once for the life of this worker. */
  readonly alarmOnce: (row: OperationRow, code: string) => void;
}

/**
 * One attempt of an external effect, with its ledger: look where the row stands, commit the intent, call, store what
 * the answer means. Safe to run any number of times, alone or beside an attempt that is still alive. Throws only what
 * the database threw.
 */
export function createPerformOperation(given: PerformOperationDeps): PerformOperation {
  const limits = given.limits ?? ATTEMPT_LIMITS;
  const deps: PerformContext = { ...given, limits, alarmOnce: createAlarm(given) };
  return async ({ operationKey }) => {
    const row = await readOperation(deps.pool, operationKey);
    if (row === undefined) return { kind: 'missing' };
    if (isSettledForRun(row.status)) return { kind: 'settled', status: row.status };
    const job = await openJob(deps, row);
    if ('status' in job) return move(deps, row, job);

    const deadline = startDeadline(limits.attemptMs, limits.graceMs);
    try {
      const step = await decide(deps, job);
      switch (step.kind) {
        case 'again':
          return { kind: 'again', status: row.status, delayMs: step.delayMs };
        case 'move':
          return await move(deps, row, step.verdict, step.attempts);
        case 'send':
          return await send(deps, job, deadline);
      }
    } finally {
      deadline.release();
    }
  };
}

/** What an attempt needs of its kind, or where the row goes without it. */
async function openJob(deps: PerformContext, row: OperationRow): Promise<Job | Verdict> {
  const definition = deps.registry.get(row.kind);
  if (definition === undefined) {
    deps.log.error(fieldsOf(row), 'this worker has no such kind of operation');
    return { status: row.status, code: 'unknown_kind', reference: null, delayMs: UNKNOWN_KIND_MS, lostAnswers: 0 };
  }
  const parsed = await parseParams(definition, row.params);
  if (parsed.kind === 'invalid') return stopped('parked', 'params_invalid');
  const { params } = parsed;
  const { operationKey, idempotencyKey, tenant, createdAt, event } = row;
  const rules = rulesOf(definition, params);
  const brake = deps.brakeOf(row.kind);
  const { attemptMs, graceMs, storeMs } = deps.limits;
  return {
    row,
    definition,
    context: { operationKey, idempotencyKey, tenant, params, createdAt, event },
    rules,
    facts: {
      rules,
      enabled: brake.mode !== 'off' && isEnabled(definition, params),
      heldBack: heldBack(row, brake, amountOf(definition, params)),
      leaseMs: attemptMs + graceMs + storeMs,
    },
    perHour: brake.perHour,
  };
}

/** The next step, after a look at the other side where the rules demand one. */
async function decide(
  deps: PerformContext,
  { row, definition, context, rules, facts }: Job,
): Promise<DecidedStep & { readonly attempts?: 1 }> {
  const step = nextStep(row, facts);
  if (step.kind !== 'look') return step;

  const deadline = startDeadline(deps.limits.lookMs, deps.limits.graceMs);
  const look = { ...context, firstSentAt: row.firstSentAt, inDoubt: mayHaveHappened(row), signal: deadline.signal };
  const seen = await lookOnce(definition, look, deadline).finally(deadline.release);
  deps.metrics.operationAttempts.inc({ kind: row.kind, answer: seen.kind });
  switch (seen.kind) {
    case 'found':
      return { kind: 'move', verdict: confirmed(seen.reference ?? null) };
    case 'absent':
      return stepAfterAbsence(row, rules);
    case 'refused':
      return { kind: 'move', verdict: stopped('refused', seen.code, lostNow(row)) };
    case 'park':
      return { kind: 'move', verdict: stopped('parked', seen.code, lostNow(row)) };
    case 'unknown':
      if (seen.pause === true) await pauseAccount(deps, row, seen.code);
      else if (seen.configuration === true) deps.alarmOnce(row, seen.code);
      return { kind: 'move', verdict: afterFailedLook(seen.code, row, rules), attempts: 1 };
  }
}

/** The intent committed, then the call, then its answer stored; each may be the last thing that this process does. */
async function send(deps: PerformContext, job: Job, deadline: Deadline): Promise<PerformOperationResult> {
  const { row, definition, context } = job;
  await deps.checkpoints('operation.before-intent');
  const prepared = row.prepared ? null : await prepareOnce(definition, context, deadline);
  if (prepared !== null && 'kind' in prepared) return move(deps, row, withoutSend(prepared, row));
  const begun = await beginAttempt(deps.pool, row, prepared, job.perHour);
  if (begun === HOURLY_CAP) return move(deps, row, stopped('proposed', HOURLY_CAP));
  if (begun === undefined) return { kind: 'again', status: row.status, delayMs: OVERTAKEN_MS };
  await deps.checkpoints('operation.intent-stored');

  const { message, firstSentAt } = begun;
  const answer: OperationAnswer = deadline.isOver()
    ? // This process was stopped for so long that another attempt may be at work: nothing has gone out, nor may it now.
      { kind: 'notSent', code: 'deadline' }
    : await performOnce(definition, { ...context, message, firstSentAt, signal: deadline.signal }, deadline);
  await deps.checkpoints('operation.answered');
  const result = await store(deps, job, begun, answer);
  await deps.checkpoints('operation.answer-stored');
  return result;
}

/** Nothing can be sent: a refusal, unless an earlier attempt of this row may have sent something. */
function withoutSend(
  { kind, code }: Extract<OperationAnswer, { kind: 'refused' | 'park' }>,
  row: OperationRow,
): Verdict {
  const status = kind === 'refused' && !mayHaveHappened(row) ? 'refused' : 'parked';
  return stopped(status, code, lostNow(row));
}

async function store(
  deps: PerformContext,
  { row, rules }: Job,
  begun: BegunAttempt,
  answer: OperationAnswer,
): Promise<PerformOperationResult> {
  const { operationKey, generation, kind } = row;
  const { attempt, lostAnswers, sinceFirstSentMs } = begun;
  const spread = spreadOf(row.idempotencyKey);
  const verdict = verdictOf(answer, { attempt, lostAnswers, sinceFirstSentMs, spread }, rules);
  const key = { operationKey, generation, attempt, lostAnswers };
  // The answer is known here and nowhere else: a database that is away for a moment must not lose it.
  const status = await withPatience(deps.limits.storeMs, () => recordAnswer(deps.pool, key, verdict));
  deps.metrics.operationAttempts.inc({ kind, answer: answer.kind });
  report(deps.log, row, attempt, answer, status ?? 'overtaken');
  if (answer.kind === 'notSent' && answer.pause === true) await pauseAccount(deps, row, answer.code);
  if (status === 'parked') alarmParked(deps, row, verdict.code);
  if (status !== undefined) return resultOf(verdict);

  const now = await readOperation(deps.pool, operationKey);
  return now === undefined ? { kind: 'missing' } : resultOf({ status: now.status, delayMs: OVERTAKEN_MS });
}

async function move(
  deps: PerformOperationDeps,
  row: OperationRow,
  verdict: Verdict,
  attempts: 0 | 1 = 0,
): Promise<PerformOperationResult> {
  const moved = await moveOperation(deps.pool, row, verdict, attempts);
  if (!moved) return { kind: 'again', status: row.status, delayMs: OVERTAKEN_MS };
  const fields = { ...fieldsOf(row), status: verdict.status, code: verdict.code };
  if (verdict.status === 'parked') alarmParked(deps, row, verdict.code);
  else deps.log.info(fields, 'operation moved without an attempt');
  return resultOf(verdict);
}

/** Repeats a repeatable statement for `limitMs` while the database is what fails. */
async function withPatience<Result>(limitMs: number, statement: () => Promise<Result>): Promise<Result> {
  const endsAt = performance.now() + limitMs;
  for (let pauseMs = 100; ; pauseMs *= 2) {
    try {
      return await statement();
    } catch (error) {
      if (errorKind(error) !== 'infrastructure' || performance.now() + pauseMs >= endsAt) throw error;
      await sleep(pauseMs);
    }
  }
}

/** Nothing more goes out for the account that the operation names, until an operator lifts the pause. */
async function pauseAccount(deps: PerformOperationDeps, row: OperationRow, code: string): Promise<void> {
  const { scope, kind } = row;
  if (scope === null || !(await pauseScope(deps.pool, scope, code))) return;
  deps.metrics.operationAlarms.inc({ kind, alarm: 'account_paused' });
  deps.log.error({ ...fieldsOf(row), scope, code }, 'account paused: the other side refuses its key');
}

function alarmParked({ log, metrics }: PerformOperationDeps, row: OperationRow, code: string | null): void {
  metrics.operationAlarms.inc({ kind: row.kind, alarm: 'parked' });
  log.error({ ...fieldsOf(row), status: 'parked', code }, 'operation parked for an operator');
}

function createAlarm({ log, metrics }: PerformOperationDeps): PerformContext['alarmOnce'] {
  const said = new Set<string>();
  return (row, code) => {
    const name = JSON.stringify([row.kind, row.scope, code]);
    if (said.has(name)) return;
    said.add(name);
    metrics.operationAlarms.inc({ kind: row.kind, alarm: 'configuration' });
    log.error({ ...fieldsOf(row), scope: row.scope, code }, 'operations wait until their configuration is mended');
  };
}

function report(log: Logger, row: OperationRow, attempt: number, answer: OperationAnswer, status: string): void {
  const code = 'code' in answer ? answer.code : null;
  const fields = { ...fieldsOf(row), attempt, answer: answer.kind, code, status };
  if ('configuration' in answer && answer.configuration) {
    log.error(fields, 'operation cannot be sent until its configuration is mended');
  } else if (answer.kind === 'confirmed' && status !== 'overtaken') {
    log.info(fields, 'operation attempt answered');
  } else {
    log.warn(fields, 'operation attempt answered');
  }
}

function fieldsOf(row: OperationRow): { readonly operationKey: string; readonly kind: string } {
  return { operationKey: row.operationKey, kind: row.kind };
}

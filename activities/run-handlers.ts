import type { PoolClient } from 'pg';
import { checkOutcome } from './check-outcome.js';
import { openHandlerTransaction, type HandlerTransaction } from './handler-transaction.js';
import { HandlerDefectError } from '../src/errors.js';
import { errorKind, sqlstateOf, textWithCauses, withCauses } from '../src/db/error-kinds.js';
import type { Handler, WebhookEvent } from '../src/api/handlers.js';
import type { HandlerOutcome, PlannedOperation } from '../src/domain/outcome.js';

/** All handlers of an event together, in milliseconds; the transaction holds locks meanwhile. */
const TIME_LIMIT_MS = 5_000;

/** Strongest first: the outcome of several handlers is the strongest of theirs. */
const STRENGTH: readonly HandlerOutcome['kind'][] = [
  'fetchFirst',
  'quarantine',
  'wait',
  'applied',
  'duplicate',
  'superseded',
  'ignored',
];

type FetchFirst = Extract<HandlerOutcome, { kind: 'fetchFirst' }>;

/** The outcome of all handlers of an event; where several want something fetched, `others` is what those after the first do. */
export type CombinedOutcome =
  Exclude<HandlerOutcome, FetchFirst> | (FetchFirst & { readonly others?: readonly FetchFirst[] });

/** Writes the operations that an outcome calls for; `conflict` when one exists with other parameters. */
export type Plan = (operations: readonly PlannedOperation[]) => Promise<{ readonly kind: 'planned' | 'conflict' }>;

/** `shadow`: everything is judged as always, and all that was written is rolled back. */
export type RunMode = 'live' | 'shadow';

/**
 * Runs a type's handlers in order inside `tx`, behind a savepoint, combines their outcomes and plans their operations.
 * What does not stand (fetch-first, wait, quarantine without `keep`, an operation that contradicts a planned one; in
 * shadow mode everything) is rolled back to the savepoint.
 * Whatever comes of it, no handler's code can send a statement afterwards.
 * @throws HandlerDefectError when a handler throws, hangs, breaks the transaction, leaves statements behind or answers
 * nonsense; the error of the infrastructure when that failed under it.
 */
export async function runHandlers(
  handlers: readonly Handler[],
  event: WebhookEvent,
  tx: PoolClient,
  plan: Plan,
  mode: RunMode = 'live',
): Promise<CombinedOutcome> {
  await tx.query('savepoint oncehook_handlers');
  const decided = combine(await decide(handlers, event, tx));
  return insideSoundTransaction(async () => {
    const outcome = await planOperations(decided, plan);
    const stands = standsInTransaction(outcome);
    // No commit will come that would check what is deferred to it.
    if (stands && mode === 'shadow') await tx.query('set constraints all immediate');
    if (!stands || mode === 'shadow') await tx.query('rollback to savepoint oncehook_handlers');
    await tx.query('release savepoint oncehook_handlers');
    return outcome;
  });
}

async function planOperations(outcome: CombinedOutcome, plan: Plan): Promise<CombinedOutcome> {
  if (outcome.kind !== 'applied' || outcome.operations.length === 0) return outcome;
  const planned = await plan(outcome.operations);
  if (planned.kind === 'planned') return outcome;
  const order = outcome.orderId === undefined ? {} : { orderId: outcome.orderId };
  return { kind: 'quarantine', reason: 'operation_conflict', ...order };
}

async function decide(
  handlers: readonly Handler[],
  event: WebhookEvent,
  tx: PoolClient,
): Promise<readonly HandlerOutcome[]> {
  // One each: what an earlier handler left behind must not write while a later one runs.
  const runs = handlers.map((handler) => ({ handler, transaction: openHandlerTransaction(tx) }));
  try {
    return await withTimeLimit(runAll(runs, event));
  } finally {
    for (const { transaction } of runs) transaction.revoke();
  }
}

interface HandlerRun {
  readonly handler: Handler;
  readonly transaction: HandlerTransaction;
}

async function runAll(runs: readonly HandlerRun[], event: WebhookEvent): Promise<HandlerOutcome[]> {
  const outcomes: HandlerOutcome[] = [];
  for (const run of runs) outcomes.push(checkOutcome(await runOne(run, event), runs.length));
  return outcomes;
}

/** Nothing that it sent is on its way any more when this ends, so that what comes next, or a rollback, is of all of it. */
async function runOne({ handler, transaction }: HandlerRun, event: WebhookEvent): Promise<unknown> {
  try {
    const returned = await callHandler(handler, event, transaction.tx);
    const unanswered = await transaction.unanswered();
    if (unanswered > 0) {
      throw nonsense(
        `for ${event.type} returned before ${unanswered} of its statements had an answer: await each statement of tx before you return (forEach does not wait for async functions)`,
      );
    }
    return returned;
  } finally {
    await transaction.end();
  }
}

async function callHandler(handler: Handler, event: WebhookEvent, tx: PoolClient): Promise<unknown> {
  try {
    return await handler(event, tx);
  } catch (error) {
    const told = withCauses(error).find(
      (one) => one instanceof HandlerDefectError || errorKind(one, 'handler') === 'infrastructure',
    );
    if (told instanceof Error) throw told;
    throw new HandlerDefectError('handler_threw', `The handler for ${event.type} threw: ${textWithCauses(error)}`, {
      cause: error,
    });
  }
}

async function withTimeLimit<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new HandlerDefectError('handler_timeout', `The handler ran longer than ${TIME_LIMIT_MS} ms`));
    }, TIME_LIMIT_MS);
  });
  // The loser of the race may still fail later, when its session is closed under it; that says nothing new.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function combine(outcomes: readonly HandlerOutcome[]): CombinedOutcome {
  const strongest = [...outcomes].sort((a, b) => STRENGTH.indexOf(a.kind) - STRENGTH.indexOf(b.kind))[0];
  if (strongest === undefined) return { kind: 'ignored' };
  if (strongest.kind === 'fetchFirst') {
    const others = outcomes.filter((outcome) => outcome.kind === 'fetchFirst').slice(1);
    return others.length === 0 ? strongest : { ...strongest, others };
  }
  if (strongest.kind !== 'applied') return strongest;
  return { ...strongest, operations: outcomes.flatMap(operationsOf) };
}

function operationsOf(outcome: HandlerOutcome): readonly PlannedOperation[] {
  return outcome.kind === 'applied' ? outcome.operations : [];
}

function standsInTransaction(outcome: HandlerOutcome): boolean {
  switch (outcome.kind) {
    case 'applied':
    case 'duplicate':
    case 'superseded':
    case 'ignored':
      return true;
    case 'quarantine':
      return outcome.keep === true;
    case 'wait':
    case 'fetchFirst':
      return false;
  }
}

/** SQLSTATEs of a transaction that is not the one we opened: none, failed, or without our savepoint. */
const BROKEN_TRANSACTION = new Set(['25P01', '25P02', '3B001']);

/** A handler that ended the transaction or swallowed a database error shows here: nothing it wrote can be trusted. */
async function insideSoundTransaction<Result>(body: () => Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    if (!BROKEN_TRANSACTION.has(sqlstateOf(error) ?? '')) throw error;
    throw new HandlerDefectError(
      'handler_nonsense',
      'The handler broke its transaction: it ended it, or it caught a database error and went on without a savepoint of its own',
      { cause: error },
    );
  }
}

function nonsense(sentence: string): HandlerDefectError {
  return new HandlerDefectError('handler_nonsense', `The handler ${sentence}`);
}

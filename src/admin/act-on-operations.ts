import { randomUUID } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import { inTransaction } from '../db/transaction.js';
import { idempotencyKey, type OperationStatus } from '../domain/operation.js';
import { CommandError } from '../errors.js';
import { sha256Hex } from '../sha256.js';

type Queryable = Pick<ClientBase, 'query'>;

/** Who asks an operation to go on or to end, and why; kept with the operation. */
export interface OperatorName {
  readonly by: string;
  readonly reason: string;
}

export type OperationActionRequest =
  /** Lets a proposed operation through the brakes of its kind. */
  | { readonly action: 'approve' }
  /** Plans a refused operation again, under a new key. */
  | { readonly action: 'retry' }
  /** Says what became of an operation that the machine may not judge. */
  | { readonly action: 'settle'; readonly as: 'confirmed'; readonly reference: string | null }
  | { readonly action: 'settle'; readonly as: 'refused' };

interface LockedRow {
  readonly status: OperationStatus;
  readonly generation: number;
  readonly lostAnswers: number;
}

/**
 * Does what an operator asks of one operation, and records it in the same transaction.
 * @returns what came of it, e.g. `planned`; `unchanged` when it was so already.
 * @throws CommandError `not_found`, or `failed` when its status does not allow it.
 */
export async function actOnOperation(
  pool: Pool,
  key: string,
  request: OperationActionRequest,
  operator: OperatorName,
): Promise<string> {
  return inTransaction(pool, async (tx) => {
    if (request.action === 'retry') await lockOrderOf(tx, key);
    const row = await lock(tx, key);
    if (row === undefined) throw new CommandError('not_found', `No operation ${key}`);
    const result = await carryOut(tx, key, row, request);
    await record(tx, { key, action: request.action, operator, result });
    return result;
  });
}

/** Refunds of one order are decided on one after the other; the order is locked before the operation, as everywhere. */
async function lockOrderOf(tx: Queryable, key: string): Promise<void> {
  await tx.query(
    `select
       from oncehook.orders
       join oncehook.operations
         on operations.tenant_id = orders.tenant_id
        and operations.params->>'orderId' = orders.id
      where operations.operation_key = $1
        for update of orders`,
    [key],
  );
}

async function lock(tx: Queryable, key: string): Promise<LockedRow | undefined> {
  const { rows } = await tx.query<LockedRow>(
    `select status, generation, lost_answers as "lostAnswers"
       from oncehook.operations
      where operation_key = $1
        for update`,
    [key],
  );
  return rows[0];
}

function carryOut(tx: Queryable, key: string, row: LockedRow, request: OperationActionRequest): Promise<string> {
  switch (request.action) {
    case 'approve':
      return approve(tx, key, row);
    case 'retry':
      return retry(tx, key, row);
    case 'settle':
      return request.as === 'confirmed' ? confirm(tx, key, row, request.reference) : refuse(tx, key, row);
  }
}

async function approve(tx: Queryable, key: string, { status }: LockedRow): Promise<string> {
  if (status === 'planned' || status === 'sending' || status === 'unknown') return 'unchanged';
  if (status !== 'proposed') throw impossible(key, status, 'approved', 'only what is proposed can be');
  await tx.query(
    `update oncehook.operations
        set status = 'planned', approved_at = now(), last_error = null, next_attempt_at = now()
      where operation_key = $1`,
    [key],
  );
  return 'planned';
}

/** A new key, and nothing left of the old one's history: the refusal was definite, so nothing of it can still happen. */
async function retry(tx: Queryable, key: string, { status, generation }: LockedRow): Promise<string> {
  if (status !== 'refused') {
    const hint =
      status === 'parked' ? 'settle it as refused first, if nothing came of it' : 'only a refused one can be';
    throw impossible(key, status, 'tried under a new key', hint);
  }
  await tx.query(
    `update oncehook.operations
        set status = 'planned', generation = $2, idempotency_key = $3, attempts = 0, lost_answers = 0,
            first_sent_at = null, last_sent_at = null, settled_at = null, last_error = null,
            approved_at = now(), next_attempt_at = now()
      where operation_key = $1`,
    [key, generation + 1, idempotencyKey(key, generation + 1, sha256Hex)],
  );
  await checkRoom(tx, key);
  return 'planned';
}

/** A refusal gave back what the refund had claimed of its payment, and others may have claimed it since. */
async function checkRoom(tx: Queryable, key: string): Promise<void> {
  const { rows } = await tx.query<{ exceeds: boolean | null }>(
    `select oncehook.refundable_minor(params->>'scope', params->>'paymentId') < 0 as exceeds
       from oncehook.operations
      where operation_key = $1
        and kind = 'refund'`,
    [key],
  );
  if (rows[0]?.exceeds !== true) return;
  throw new CommandError('failed', `${key} has no room in its payment any more: other refunds have claimed it`);
}

async function confirm(tx: Queryable, key: string, { status }: LockedRow, reference: string | null): Promise<string> {
  if (status === 'confirmed') return 'unchanged';
  if (status !== 'parked') throw impossible(key, status, 'settled as confirmed', 'only a parked one can be');
  await tx.query(
    `update oncehook.operations
        set status = 'confirmed', settled_at = now(), last_error = null,
            provider_reference = coalesce($2, provider_reference)
      where operation_key = $1`,
    [key, reference],
  );
  return 'confirmed';
}

/** Also the answer to a proposal, and the way to take back what has never been sent. */
async function refuse(tx: Queryable, key: string, { status, lostAnswers }: LockedRow): Promise<string> {
  if (status === 'refused') return 'unchanged';
  const isUnsent = status === 'planned' && lostAnswers === 0;
  if (status !== 'parked' && status !== 'proposed' && !isUnsent) {
    throw impossible(key, status, 'settled as refused', 'only what is parked, proposed or not sent yet can be');
  }
  await tx.query(
    `update oncehook.operations
        set status = 'refused', settled_at = now(), last_error = 'settled_by_operator'
      where operation_key = $1`,
    [key],
  );
  return 'refused';
}

function impossible(key: string, status: OperationStatus, wanted: string, hint: string): CommandError {
  return new CommandError('failed', `${key} is ${status} and cannot be ${wanted}: ${hint}`);
}

/** What is paused: `*` stands for all. */
export interface PauseTarget {
  readonly kind: string;
  readonly tenant: string;
  readonly scope: string;
}

/** @returns `paused`, or `unchanged` when such a pause stands already. */
export async function pauseOperations(pool: Pool, target: PauseTarget, operator: OperatorName): Promise<string> {
  return inTransaction(pool, async (tx) => {
    const { rowCount } = await tx.query(
      `insert into oncehook.operation_pauses (kind, tenant_id, scope, requested_by, reason)
       values ($1, $2, $3, $4, $5)
           on conflict (kind, tenant_id, scope) do nothing`,
      [target.kind, target.tenant, target.scope, operator.by, operator.reason],
    );
    const result = rowCount === 1 ? 'paused' : 'unchanged';
    await record(tx, { key: null, action: 'pause', operator, result: `${result} ${nameOf(target)}` });
    return result;
  });
}

/**
 * Lifts exactly this pause.
 * @returns the keys of unfinished operations that it covered, now due, at most 1000 (the sweeper has the rest); null
 * when there was no such pause.
 */
export async function resumeOperations(
  pool: Pool,
  target: PauseTarget,
  operator: OperatorName,
): Promise<readonly string[] | null> {
  return inTransaction(pool, async (tx) => {
    const { rowCount } = await tx.query(
      'delete from oncehook.operation_pauses where kind = $1 and tenant_id = $2 and scope = $3',
      [target.kind, target.tenant, target.scope],
    );
    const result = rowCount === 1 ? 'resumed' : 'unchanged';
    await record(tx, { key: null, action: 'resume', operator, result: `${result} ${nameOf(target)}` });
    if (rowCount === 0) return null;
    const { rows } = await tx.query<{ key: string }>(
      `update oncehook.operations
          set next_attempt_at = now()
        where operation_key in (
                select operation_key
                  from oncehook.operations
                 where status in ('planned', 'unknown')
                   and $1 in (kind, '*')
                   and $2 in (tenant_id, '*')
                   and ($3 = '*' or $3 = params->>'scope')
                 order by created_at
                 limit 1000
                   for update skip locked)
       returning operation_key as key`,
      [target.kind, target.tenant, target.scope],
    );
    return rows.map(({ key }) => key);
  });
}

function nameOf({ kind, tenant, scope }: PauseTarget): string {
  return `kind=${kind} tenant=${tenant} scope=${scope}`;
}

interface RecordedAction {
  readonly key: string | null;
  readonly action: string;
  readonly operator: OperatorName;
  readonly result: string;
}

/** A command is carried out once, by its own transaction, so its request needs no name of its own. */
async function record(tx: Queryable, { key, action, operator, result }: RecordedAction): Promise<void> {
  await tx.query(
    `insert into oncehook.operator_actions (operation_key, action, requested_by, reason, request_key, result)
     values ($1, $2, $3, $4, $5, $6)`,
    [key, action, operator.by, operator.reason, `command:${randomUUID()}`, result],
  );
}

import { HandlerDefectError } from '../src/errors.js';
import type { FetchReference, HandlerOutcome, ObjectFetch, PlannedOperation } from '../src/domain/outcome.js';

/** Reason codes are stored, searched for and shown in histories, so their form is closed. */
const REASON_FORM = /^[a-z][a-z0-9_]{0,62}$/;

/** 1 to 255 characters, none of which PostgreSQL refuses (NUL) or JSON changes (half of a character). */
const ORDER_ID_FORM = /^[^\0\p{Surrogate}]{1,255}$/u;

/** What a handler returned, before anything is known of it. */
type Returned = Readonly<Record<string, unknown>>;

/**
 * Makes an outcome of what a handler returned, of whose fields TypeScript can promise nothing: handlers may be written
 * in JavaScript, and a database's rows are `any`.
 * @throws HandlerDefectError (`handler_nonsense`) that says what is wrong with it.
 */
export function checkOutcome(value: unknown, handlerCount: number): HandlerOutcome {
  const returned = isObject(value) ? value : {};
  switch (returned.kind) {
    case 'applied':
      return { kind: 'applied', operations: operationsOf(returned), ...orderOf(returned) };
    case 'duplicate':
    case 'superseded':
      return { kind: returned.kind, ...orderOf(returned) };
    case 'ignored':
      return returned.reason === undefined ? { kind: 'ignored' } : { kind: 'ignored', reason: reasonOf(returned) };
    case 'wait':
      return { kind: 'wait', reason: reasonOf(returned), ...lookOf(returned), ...orderOf(returned) };
    case 'fetchFirst':
      return { kind: 'fetchFirst', references: referencesOf(returned), ...fetcherOf(returned) };
    case 'quarantine':
      return {
        kind: 'quarantine',
        reason: reasonOf(returned),
        ...keepOf(returned, handlerCount),
        ...orderOf(returned),
      };
    default:
      throw nonsense('something that is not an outcome: return applied(), duplicate(), ignored() or another');
  }
}

function reasonOf({ kind, reason }: Returned): string {
  if (reason === undefined) throw nonsense(`${String(kind)} without a reason code`);
  if (typeof reason === 'string' && REASON_FORM.test(reason)) return reason;
  throw nonsense(`${String(kind)} with a malformed reason code: it must match ${REASON_FORM.source}`);
}

/** A column that is null names no order. */
function orderOf({ kind, orderId }: Returned): { readonly orderId?: string } {
  if (orderId === undefined || orderId === null) return {};
  if (typeof orderId === 'string' && ORDER_ID_FORM.test(orderId)) return { orderId };
  throw nonsense(`${String(kind)} with an orderId that is not a text of 1 to 255 characters: for a number, String(id)`);
}

function operationsOf({ operations }: Returned): readonly PlannedOperation[] {
  if (!Array.isArray(operations)) throw nonsense('applied without a list of operations');
  // Copied first: a list with holes has them as `undefined` then.
  return Array.from(operations as readonly unknown[], (operation) => {
    if (isObject(operation) && typeof operation.kind === 'string' && typeof operation.key === 'string') {
      return { kind: operation.kind, key: operation.key, params: operation.params };
    }
    throw nonsense('applied with something in operations that is none: each needs a kind and a key, both texts');
  });
}

function lookOf({ fetch }: Returned): { readonly fetch?: FetchReference } {
  if (fetch === undefined) return {};
  if (isReference(fetch)) return { fetch };
  throw nonsense('wait with a malformed reference in fetch: it needs a type and an ID, both texts');
}

function referencesOf({ references }: Returned): readonly FetchReference[] {
  const list: readonly unknown[] = Array.isArray(references) ? Array.from(references as readonly unknown[]) : [];
  if (list.length > 0 && list.every(isReference)) return list;
  throw nonsense('fetchFirst without references: each needs a type and an ID, both texts');
}

function isReference(value: unknown): value is FetchReference {
  return isObject(value) && isText(value.type) && isText(value.id);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0;
}

function fetcherOf({ by }: Returned): { readonly by?: ObjectFetch } {
  if (by === undefined) return {};
  if (typeof by === 'function') return { by: by as ObjectFetch };
  throw nonsense('fetchFirst with something in by that is no function');
}

function keepOf({ keep }: Returned, handlerCount: number): { readonly keep?: boolean } {
  if (keep === undefined) return {};
  if (typeof keep !== 'boolean') throw nonsense('quarantine with a keep that is neither true nor false');
  if (keep && handlerCount > 1) {
    throw nonsense("quarantine with keep, which only a type's single handler may ask for");
  }
  return { keep };
}

function isObject(value: unknown): value is Returned {
  return typeof value === 'object' && value !== null;
}

function nonsense(what: string): HandlerDefectError {
  return new HandlerDefectError('handler_nonsense', `The handler returned ${what}`);
}

import { CheckpointError, DatabaseUnusableError, DeadlineError, HandlerDefectError } from '../errors.js';

/**
 * Two kinds of trouble. `infrastructure`: what we stand on failed; retried without bound. `defect`: the same input
 * would fail again; counted, then quarantined.
 */
export type ErrorKind = 'infrastructure' | 'defect';

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * SQLSTATE classes and codes that say nothing about the input (PostgreSQL manual, appendix A): lost connections (08),
 * rollback of a sound transaction (40), resources (53), operator intervention (57P), system errors (58), a read-only
 * primary after failover (25006), our own idle limit (25P03), a lock not had in time (55P03).
 */
const INFRASTRUCTURE_SQLSTATES = [/^08/, /^40/, /^53/, /^57P/, /^58/, /^25006$/, /^25P03$/, /^55P03$/];

/**
 * Infrastructure only where the statement is our own: cancelled by `statement_timeout`, and refused for lack of a
 * privilege. The latter is the same for every event until somebody grants it; of a handler's statement nobody knows
 * whether it ever may succeed.
 */
const OWN_INFRASTRUCTURE_SQLSTATES = new Set(['57014', INSUFFICIENT_PRIVILEGE]);

/** What node and pg report for a connection that failed or went away, by `code`. */
const CONNECTION_CODES = new Set([
  'ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND',
  'EAI_AGAIN', 'EADDRNOTAVAIL', 'EMFILE', 'ENFILE',
]); // prettier-ignore

/**
 * pg throws these without a code when a connection ends under a query or a checkout times out (pg 8.23, client.js and
 * pg-pool index.js). Own words of a pinned library, so compared as a whole start, not searched for.
 */
const CONNECTION_MESSAGES = [
  'Connection terminated',
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed',
  'Cannot use a pool after calling end on the pool',
];

/** A chain longer than this is a circle. */
const MOST_CAUSES = 8;

/** An error and what it was made from: query builders wrap the database's error in one of their own. */
export function withCauses(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let one = error; one !== undefined && chain.length < MOST_CAUSES;) {
    chain.push(one);
    one = one instanceof Error ? one.cause : undefined;
  }
  return chain;
}

/** An error's text and those of its causes, which often say more than it does. */
export function textWithCauses(error: unknown): string {
  return withCauses(error)
    .map((one) => (one instanceof Error ? `${one.name}: ${one.message}` : String(one)))
    .join(', caused by ');
}

/** The five-character SQLSTATE of a database error, else undefined. */
export function sqlstateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return 'severity' in error && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined;
}

/** Whether a statement was refused because its role lacks a privilege, which only an operator can mend. */
export function lacksPrivilege(error: unknown): boolean {
  return sqlstateOf(error) === INSUFFICIENT_PRIVILEGE;
}

/** Whether an error came from connecting or from a connection that was lost; nothing is known of its last statement. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (sqlstateOf(error) !== undefined) return /^(08|57P)/.test(sqlstateOf(error) ?? '');
  if ('code' in error && typeof error.code === 'string' && CONNECTION_CODES.has(error.code)) return true;
  if (isMissingSocket(error)) return true;
  return CONNECTION_MESSAGES.some((message) => error.message.startsWith(message));
}

/** A Unix socket that is not there; any other missing file is not about a connection. */
function isMissingSocket(error: Error): boolean {
  return 'code' in error && error.code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect';
}

/**
 * The one table that tells the two kinds apart.
 * @param whose `own` for our statements; `handler` for code inside a handler, where a statement cancelled or refused is its fault.
 */
export function errorKind(error: unknown, whose: 'own' | 'handler' = 'own'): ErrorKind {
  if (error instanceof HandlerDefectError) return 'defect';
  if (error instanceof DeadlineError || error instanceof CheckpointError || error instanceof DatabaseUnusableError) {
    return 'infrastructure';
  }
  if (isConnectionError(error)) return 'infrastructure';
  const sqlstate = sqlstateOf(error);
  if (sqlstate === undefined) return 'defect';
  if (OWN_INFRASTRUCTURE_SQLSTATES.has(sqlstate)) return whose === 'own' ? 'infrastructure' : 'defect';
  return INFRASTRUCTURE_SQLSTATES.some((pattern) => pattern.test(sqlstate)) ? 'infrastructure' : 'defect';
}

/** A transaction that lost to another and is sound as it stands: deadlock victim or serialization failure. */
export function isRetryableConflict(error: unknown): boolean {
  const sqlstate = sqlstateOf(error);
  return sqlstate === '40P01' || sqlstate === '40001';
}

/** Short machine code of an error for histories and rows' codes: never its text. */
export function errorCode(error: unknown): string {
  const sqlstate = sqlstateOf(error);
  if (sqlstate !== undefined) return `sqlstate_${sqlstate}`;
  if (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^[A-Za-z0-9_]{1,40}$/.test(error.code)
  ) {
    return error.code.toLowerCase();
  }
  return isConnectionError(error) ? 'connection_lost' : 'unexpected_error';
}

import type { ClientBase } from 'pg';
import type { EventKey } from '../domain/event.js';
import { idempotencyKey, type OperationStatus } from '../domain/operation.js';
import type { OperationSummary, PlannedOperation } from '../domain/outcome.js';
import { HandlerDefectError } from '../errors.js';
import { sha256Hex } from '../sha256.js';
import { NEEDS_APPROVAL, type EffectMode } from './brake.js';
import { parseParams } from './parse-params.js';
import type { OperationRegistry } from './registry.js';

type Queryable = Pick<ClientBase, 'query'>;

export interface PlanInput {
  readonly tenant: string;
  /** The event that calls for them; `null` when an application asked. */
  readonly event: EventKey | null;
  readonly operations: readonly PlannedOperation[];
  readonly registry: OperationRegistry;
  readonly modeOf: (kind: string) => EffectMode;
}

export type PlanResult =
  /** By key; those of a kind that is off are not among them. */
  | { readonly kind: 'planned'; readonly operations: readonly OperationSummary[] }
  /** The key names an effect with another kind, tenant or parameters. What this call inserted must be rolled back. */
  | { readonly kind: 'conflict'; readonly operationKey: string };

/** The run performs an event's operations itself; the sweeper takes up what is left after this. */
const SWEEPER_GRACE_SECONDS = 60;

/** As `operationKey()` makes them. */
const KEY_FORM = /^[A-Za-z0-9_.@+~:-]{1,2000}$/;

/** Text that jsonb cannot hold, as JSON.stringify writes it: NUL and lone surrogates. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;

interface WantedRow {
  readonly key: string;
  readonly kind: string;
  readonly params: unknown;
  readonly idempotency_key: string;
  readonly status: OperationStatus;
}

/** How a worker with these kinds plans what its handlers decide on. */
export function createPlanner({ registry, modeOf }: Pick<PlanInput, 'registry' | 'modeOf'>) {
  return (
    tx: Queryable,
    event: EventKey,
    tenant: string,
    operations: readonly PlannedOperation[],
  ): Promise<PlanResult> => planOperations(tx, { tenant, event, operations, registry, modeOf });
}

/**
 * Writes the effects that a handler decided on, in the transaction that decided. A key that exists already is shared:
 * the same effect called for twice stays one row.
 * @throws HandlerDefectError (`handler_nonsense`) for an unknown kind, a malformed key or parameters that the kind's
 * schema refuses.
 */
export async function planOperations(tx: Queryable, input: PlanInput): Promise<PlanResult> {
  const wanted: WantedRow[] = [];
  for (const operation of input.operations) {
    const mode = input.modeOf(operation.kind);
    if (mode !== 'off') wanted.push(...(await wantedRow(operation, mode, input)));
  }
  if (wanted.length === 0) return { kind: 'planned', operations: [] };
  const rows = JSON.stringify(wanted);
  await insertMissing(tx, rows, input);
  return compareStored(tx, rows, input.tenant);
}

/** One row, or none when the kind's own definition switches this effect off. */
async function wantedRow(
  operation: PlannedOperation,
  mode: Exclude<EffectMode, 'off'>,
  { registry }: PlanInput,
): Promise<readonly WantedRow[]> {
  const { kind, key } = operation;
  const definition = registry.get(kind);
  if (definition === undefined) {
    throw nonsense(
      `an operation of kind "${kind}", which is not among those of this worker: ${registry.kinds.join(', ')}`,
    );
  }
  if (typeof key !== 'string' || !KEY_FORM.test(key)) {
    throw nonsense(`an operation of kind "${kind}" under a malformed key: build keys with operationKey()`);
  }
  const params = frozenParams(operation);
  const parsed = await parseParams(definition, params);
  if (parsed.kind === 'invalid') {
    throw nonsense(`operation ${key} with parameters that its kind refuses: ${parsed.problem}`);
  }
  if (definition.enabled?.(parsed.params) === false) return [];
  const status = mode === 'propose' ? 'proposed' : 'planned';
  return [{ key, kind, params, idempotency_key: idempotencyKey(key, 1, sha256Hex), status }];
}

/** The parameters as every later attempt will read them: what JSON keeps of them, checked to be storable. */
function frozenParams({ key, params }: PlannedOperation): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(params);
  } catch (error) {
    throw nonsense(`operation ${key} with parameters that are not JSON`, error);
  }
  if (typeof text !== 'string' || !text.startsWith('{')) {
    throw nonsense(`operation ${key} with parameters that are not a JSON object`);
  }
  if (UNSTORABLE.test(text)) throw nonsense(`operation ${key} with a NUL or half a character in its parameters`);
  return JSON.parse(text) as unknown;
}

/** In the order of the keys, whatever the handler's: transactions that share several keys must not wait in a circle. */
async function insertMissing(tx: Queryable, rows: string, { tenant, event }: PlanInput): Promise<void> {
  await tx.query(
    `insert into oncehook.operations
       (operation_key, kind, tenant_id, params, idempotency_key, status, source_scope, event_id, next_attempt_at,
        last_error)
     select wanted.key, wanted.kind, $2, wanted.params, wanted.idempotency_key, wanted.status, $3, $4,
            now() + $5 * interval '1 second',
            case wanted.status when 'proposed' then $6 end
       from jsonb_to_recordset($1::jsonb)
              as wanted(key text, kind text, params jsonb, idempotency_key text, status text)
      order by wanted.key collate "C"
         on conflict (operation_key) do nothing`,
    [
      rows,
      tenant,
      event?.scope ?? null,
      event?.eventId ?? null,
      event === null ? 0 : SWEEPER_GRACE_SECONDS,
      NEEDS_APPROVAL,
    ],
  );
}

/** A statement of its own: it must see the row that another transaction committed while the insert waited for it. */
async function compareStored(tx: Queryable, rows: string, tenant: string): Promise<PlanResult> {
  const { rows: stored } = await tx.query<{ operation_key: string; status: OperationStatus; same: boolean }>(
    `select stored.operation_key,
            stored.status,
            bool_and(stored.kind = wanted.kind and stored.tenant_id = $2 and stored.params = wanted.params) as same
       from jsonb_to_recordset($1::jsonb) as wanted(key text, kind text, params jsonb)
       join oncehook.operations stored on stored.operation_key = wanted.key
      group by stored.operation_key
      order by stored.operation_key collate "C"`,
    [rows, tenant],
  );
  const other = stored.find(({ same }) => !same);
  if (other !== undefined) return { kind: 'conflict', operationKey: other.operation_key };
  return { kind: 'planned', operations: stored.map(({ operation_key: key, status }) => ({ key, status })) };
}

function nonsense(planned: string, cause?: unknown): HandlerDefectError {
  return new HandlerDefectError('handler_nonsense', `The handler planned ${planned}`, { cause });
}

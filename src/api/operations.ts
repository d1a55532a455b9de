import type { EventKey } from '../domain/event.js';

/**
 * The part of the Standard Schema interface that oncehook uses; zod 3.24+, valibot and arktype schemas satisfy it.
 * Source: standardschema.dev, version 1.
 */
export interface ParamsSchema<Params> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Params> | Promise<SchemaResult<Params>>;
  };
}

export type SchemaResult<Params> =
  | { readonly value: Params; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** What stands before an attempt: everything is read from the row, nothing is made anew. */
export interface OperationContext<Params> {
  readonly operationKey: string;
  /** The same for every attempt of this generation. */
  readonly idempotencyKey: string;
  readonly tenant: string;
  /** The parameters frozen by the transaction that planned the operation. */
  readonly params: Params;
  /** When it was planned, by the database's clock. */
  readonly createdAt: Date;
  /** The event that called for it, the first one if several did; `null` when an application asked. */
  readonly event: EventKey | null;
}

export interface OperationAttempt<Params> extends OperationContext<Params> {
  /** The exact bytes that `prepare` built, once, for kinds that have it. */
  readonly message: PreparedMessage | null;
  /** When the first attempt went out, this one included. */
  readonly firstSentAt: Date;
  /**
   * Aborted at the attempt's deadline (about 10 s); hand it to `fetch` and its like, and answer soon after: a second
   * later the attempt is given up as `unknown`.
   */
  readonly signal: AbortSignal;
}

/** What `reconcile` gets: the same names and parameters as the attempts that it asks about. */
export interface OperationLook<Params> extends OperationContext<Params> {
  /** When the first attempt went out; `null` when none is known to have. */
  readonly firstSentAt: Date | null;
  /** Whether an attempt may have had its effect, or may still have it, without anybody knowing. */
  readonly inDoubt: boolean;
  /** Aborted when the look has taken too long (about 4 s). */
  readonly signal: AbortSignal;
}

export interface PreparedMessage {
  readonly bytes: Buffer;
  readonly messageId: string;
}

/**
 * What is known after an attempt.
 * - `confirmed`: the other side did it. `refused`: it definitely said no, for good.
 * - `notSent`: this attempt definitely had no effect; worth another, not before `retryAfterMs`. `configuration` marks
 *   what only an operator can mend (a rejected password, TLS that does not come up): logged as an error each time.
 *   `pause` says that nothing can be sent for the account at all (a rejected key): every operation with the same `scope`
 *   in its parameters is paused until an operator lifts that.
 * - `unknown`: it may or may not have had its effect. `configuration` as above: what only an operator can mend was the
 *   last that was heard, and something may have gone out before it; where each send is looked at first, the next one
 *   waits as after `notSent`. `park`: only a human can decide.
 * `code` is a short machine code in lower snake case, `reference` the other side's ID of what it did, at most 255
 * printable ASCII characters; the other side's text must be in neither, and what has another form is not kept.
 */
export type OperationAnswer =
  | { readonly kind: 'confirmed'; readonly reference?: string }
  | { readonly kind: 'refused'; readonly code: string }
  | {
      readonly kind: 'notSent';
      readonly code: string;
      readonly retryAfterMs?: number;
      readonly configuration?: boolean;
      readonly pause?: boolean;
    }
  | {
      readonly kind: 'unknown';
      readonly code: string;
      readonly retryAfterMs?: number;
      readonly configuration?: boolean;
    }
  | { readonly kind: 'park'; readonly code: string };

/**
 * What looking at the other side showed. `absent` is only said by a provider that reads its own writes. `refused`: the
 * effect is not there and never will be, whatever was sent. `unknown`: it could not be asked; `configuration` and
 * `pause` as in an answer, the first alarmed once.
 */
export type ReconcileAnswer =
  | { readonly kind: 'found'; readonly reference?: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unknown'; readonly code: string; readonly configuration?: boolean; readonly pause?: boolean }
  | { readonly kind: 'park'; readonly code: string };

/**
 * What an operation does when an attempt's answer was lost:
 * - `reconcile` looks at the other side (needs `reconcile`), before every send; what is not there is sent again under
 *   the same key for as long as `keyTtlMs` protects that, else parked.
 * - `resend` sends the same bytes under the same key again. With `keyTtlMs`: for as long as that protects it, else it is
 *   parked (once, or parked). Without: at least once. After several lost answers it is parked either way.
 * - `hold` parks it for an operator (at most once).
 */
export type UnknownPolicy = 'reconcile' | 'resend' | 'hold';

export interface OperationDefinition<Params> {
  /** Lower snake case, unique among the kinds of one worker. */
  readonly kind: string;
  /** Checks the parameters as JSON gives them back, when the operation is planned and before every attempt. */
  readonly params: ParamsSchema<Params>;
  /**
   * The amount that the effect moves, in the smallest unit of its currency, for the kind's cap per operation; leave out
   * for kinds that move none. What has no amount under a cap waits for approval.
   */
  readonly amountMinor?: (params: Params) => number | bigint;
  /** `false` switches an effect off: it is not planned, and one that was planned before is refused. */
  readonly enabled?: (params: Params) => boolean;
  /**
   * Builds what is sent, once; stored before the first attempt. Must not call out. May throw; `classify` then says
   * whether that is a refusal, and anything but `refused` and `park` parks it as `prepare_failed`.
   */
  readonly prepare?: (context: OperationContext<Params>) => Promise<PreparedMessage>;
  /** Makes one attempt. May throw; `classify` then says what is known. */
  readonly perform: (attempt: OperationAttempt<Params>) => Promise<OperationAnswer>;
  /** Tells what an error thrown by `prepare` or `perform` means. Must not throw; `unknown` is what it says in doubt. */
  readonly classify: (error: unknown) => OperationAnswer;
  /** Asks the other side whether an earlier attempt took effect. One that throws counts as `unknown`. */
  readonly reconcile?: (look: OperationLook<Params>) => Promise<ReconcileAnswer>;
  /**
   * How long the other side honours an idempotency key, in milliseconds; leave out where it has none. After five sixths
   * of it, counted from the first attempt, nothing is sent again that may have had its effect, and a refusal does not
   * speak for attempts whose answer was lost.
   */
  readonly keyTtlMs?: number;
  readonly onUnknown: UnknownPolicy | ((params: Params) => UnknownPolicy);
  /**
   * How long attempts are repeated, in milliseconds since the first; then the operation is refused (`gave_up`), or
   * parked if an answer was lost on the way. Without it they are repeated without bound.
   */
  readonly giveUpAfterMs?: number;
}

/** A definition whose parameter type is forgotten, as registries hold it; its schema guards the way back in. */
export type AnyOperationDefinition = OperationDefinition<unknown>;

const KIND_FORM = /^[a-z][a-z0-9_]{0,62}$/;

/**
 * Declares a kind of external effect. Every kind gets the same ledger: frozen parameters, a derived key, the state
 * `unknown` and its way out.
 * @throws TypeError when the kind's name is malformed or `reconcile` is asked for and missing.
 */
export function defineOperation<Params>(definition: OperationDefinition<Params>): AnyOperationDefinition {
  if (!KIND_FORM.test(definition.kind)) {
    throw new TypeError(`An operation kind is lower snake case and at most 63 characters, not "${definition.kind}"`);
  }
  if (definition.onUnknown === 'reconcile' && definition.reconcile === undefined) {
    throw new TypeError(`Operation "${definition.kind}": onUnknown "reconcile" needs a reconcile function`);
  }
  // Sound because parameters reach the functions only through the definition's own schema (operations/parse-params.ts).
  return definition as unknown as AnyOperationDefinition;
}

import type {
  AnyOperationDefinition,
  OperationAnswer,
  OperationAttempt,
  OperationContext,
  OperationLook,
  PreparedMessage,
  ReconcileAnswer,
  UnknownPolicy,
} from '../api/operations.js';
import { DeadlineError } from '../errors.js';
import type { Deadline } from './deadline.js';
import type { OperationRules } from './verdict.js';

/** Codes and references are stored, shown and logged; what has another form could be the other side's text. */
const CODE_FORM = /^[a-z][a-z0-9_]{0,62}$/;
const REFERENCE_FORM = /^[\x21-\x7e]{1,255}$/;

/**
 * The only place that calls a definition's functions. They are a user's code: whatever they throw or return becomes an
 * answer here, and in doubt that answer is the one that claims least.
 */
export async function performOnce(
  definition: AnyOperationDefinition,
  attempt: OperationAttempt<unknown>,
  deadline: Deadline,
): Promise<OperationAnswer> {
  try {
    return checkedAnswer(await deadline.race(startNow(() => definition.perform(attempt))));
  } catch (error) {
    if (error instanceof DeadlineError) return { kind: 'unknown', code: 'deadline' };
    return classified(definition, error);
  }
}

export async function lookOnce(
  definition: AnyOperationDefinition,
  look: OperationLook<unknown>,
  deadline: Deadline,
): Promise<ReconcileAnswer> {
  const { reconcile } = definition;
  if (reconcile === undefined) return { kind: 'unknown', code: 'cannot_look' };
  try {
    return checkedLook(await deadline.race(startNow(() => reconcile(look))));
  } catch {
    return { kind: 'unknown', code: 'look_failed' };
  }
}

/** The bytes to send, `null` for a kind that stores none, or why there can be none. */
export async function prepareOnce(
  definition: AnyOperationDefinition,
  context: OperationContext<unknown>,
  deadline: Deadline,
): Promise<PreparedMessage | Extract<OperationAnswer, { kind: 'refused' | 'park' }> | null> {
  const { prepare } = definition;
  if (prepare === undefined) return null;
  try {
    const { bytes, messageId } = await deadline.race(startNow(() => prepare(context)));
    if (!Buffer.isBuffer(bytes) || bytes.length === 0 || !REFERENCE_FORM.test(messageId)) {
      return { kind: 'park', code: 'prepare_failed' };
    }
    return { bytes, messageId };
  } catch (error) {
    const answer = classified(definition, error);
    // Nothing was sent, so nothing else can be true of it.
    return answer.kind === 'refused' || answer.kind === 'park' ? answer : { kind: 'park', code: 'prepare_failed' };
  }
}

/** A policy that cannot be had is `hold`: no second copy by mistake. */
export function rulesOf(definition: AnyOperationDefinition, params: unknown): OperationRules {
  const { keyTtlMs = 0, giveUpAfterMs = Infinity } = definition;
  const wanted = quietly(() => {
    return typeof definition.onUnknown === 'function' ? definition.onUnknown(params) : definition.onUnknown;
  });
  const policy = wanted === 'reconcile' && definition.reconcile === undefined ? 'hold' : wanted;
  return { policy: isPolicy(policy) ? policy : 'hold', keyTtlMs, giveUpAfterMs };
}

/** What the effect moves, in minor units; `null` when the kind does not say, or nothing that could be an amount. */
export function amountOf(definition: AnyOperationDefinition, params: unknown): bigint | null {
  const amount = quietly(() => {
    const stated = definition.amountMinor?.(params);
    return stated === undefined ? undefined : BigInt(stated);
  });
  return amount === undefined || amount < 0n ? null : amount;
}

/** Only a definition that clearly says so is off. */
export function isEnabled(definition: AnyOperationDefinition, params: unknown): boolean {
  return quietly(() => definition.enabled?.(params)) !== false;
}

/** Also turns a synchronous throw into a rejection. */
async function startNow<Result>(call: () => Promise<Result>): Promise<Result> {
  return call();
}

function classified(definition: AnyOperationDefinition, error: unknown): OperationAnswer {
  try {
    return checkedAnswer(definition.classify(error));
  } catch {
    return { kind: 'unknown', code: 'classify_failed' };
  }
}

function checkedAnswer(value: unknown): OperationAnswer {
  const answer = (value ?? {}) as Partial<OperationAnswer>;
  switch (answer.kind) {
    case 'confirmed':
      return { kind: 'confirmed', ...checkedReference(answer.reference) };
    case 'notSent':
      return { ...answer, kind: 'notSent', code: checkedCode(answer.code) };
    case 'unknown':
      return { ...answer, kind: 'unknown', code: checkedCode(answer.code) };
    case 'refused':
    case 'park':
      return { kind: answer.kind, code: checkedCode(answer.code) };
    default:
      return { kind: 'unknown', code: 'answer_nonsense' };
  }
}

function checkedLook(value: unknown): ReconcileAnswer {
  const answer = (value ?? {}) as Partial<ReconcileAnswer>;
  switch (answer.kind) {
    case 'found':
      return { kind: 'found', ...checkedReference(answer.reference) };
    case 'absent':
      return { kind: 'absent' };
    case 'unknown':
      return { ...answer, kind: 'unknown', code: checkedCode(answer.code) };
    case 'refused':
    case 'park':
      return { kind: answer.kind, code: checkedCode(answer.code) };
    default:
      return { kind: 'unknown', code: 'answer_nonsense' };
  }
}

function checkedCode(code: unknown): string {
  return typeof code === 'string' && CODE_FORM.test(code) ? code : 'unnamed';
}

function checkedReference(reference: unknown): { readonly reference?: string } {
  return typeof reference === 'string' && REFERENCE_FORM.test(reference) ? { reference } : {};
}

function isPolicy(value: unknown): value is UnknownPolicy {
  return value === 'reconcile' || value === 'resend' || value === 'hold';
}

function quietly<Result>(call: () => Result): Result | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

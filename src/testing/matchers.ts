import { inspect, isDeepStrictEqual } from 'node:util';
import type { EventResult } from './bench.js';

/** What `expect.extend` of vitest and jest takes. */
export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/** The matchers as they are called on `expect(result)`; `R` is what the test runner returns from a matcher. */
export interface WebhookMatchers<R = unknown> {
  /** The business change was made. */
  toBeApplied(): R;
  /** A delivery of an event that is stored, or a fact that was applied before. */
  toBeDuplicate(): R;
  /** A newer fact stands. */
  toBeSuperseded(): R;
  toBeIgnored(reason?: string): R;
  /** Not yet; with this reason, when one is given. */
  toWait(reason?: string): R;
  toBeQuarantined(reason?: string): R;
  /** The event called for an effect of this kind, with at least these parameters. */
  toPlanOperation(kind: string, params?: Readonly<Record<string, unknown>>): R;
}

/** For `expect.extend(webhookMatchers)`, over what `deliver` and `runWaiting` of a bench return. */
export const webhookMatchers = {
  toBeApplied: (received: unknown) => judge(received, 'applied', ({ outcome }) => outcome === 'applied'),
  toBeDuplicate: (received: unknown) =>
    judge(received, 'a duplicate', ({ delivery, outcome }) => delivery === 'duplicate' || outcome === 'duplicate'),
  toBeSuperseded: (received: unknown) => judge(received, 'superseded', ({ outcome }) => outcome === 'superseded'),
  toBeIgnored: (received: unknown, reason?: string) =>
    judge(received, `ignored${because(reason)}`, (result) => result.outcome === 'ignored' && has(result, reason)),
  toWait: (received: unknown, reason?: string) =>
    judge(received, `waiting${because(reason)}`, (result) => result.status === 'waiting' && has(result, reason)),
  toBeQuarantined: (received: unknown, reason?: string) =>
    judge(
      received,
      `quarantined${because(reason)}`,
      (result) => result.status === 'quarantined' && has(result, reason),
    ),
  toPlanOperation: (received: unknown, kind: string, params: Readonly<Record<string, unknown>> = {}) =>
    judge(received, `one that plans ${kind} with ${JSON.stringify(params)}`, ({ operations }) =>
      operations.some((operation) => operation.kind === kind && contains(operation.params, params)),
    ),
} satisfies Record<keyof WebhookMatchers, (received: unknown, ...rest: never[]) => MatcherResult>;

function judge(received: unknown, expected: string, holds: (result: EventResult) => boolean): MatcherResult {
  // Thrown, since `.not` would turn a failed match into a passed test.
  if (!isEventResult(received)) throw new TypeError(`This matcher takes ${WANTED}, and got ${nameOf(received)}`);
  const pass = holds(received);
  return {
    pass,
    message: () => `expected the event ${pass ? 'not ' : ''}to be ${expected}, and it is ${say(received)}`,
  };
}

const WANTED = 'the result of a delivery: expect(await bench.deliver(event))';

function nameOf(received: unknown): string {
  return received instanceof Promise ? 'a promise: is an await missing?' : inspect(received, { depth: 0 });
}

function isEventResult(value: unknown): value is EventResult {
  return typeof value === 'object' && value !== null && 'eventId' in value && 'operations' in value;
}

function say({ type, eventId, delivery, status, outcome, reason, operations, defect }: EventResult): string {
  const plans = operations.map(({ kind, key, params }) => `\n  ${kind} ${key} ${JSON.stringify(params)}`).join('');
  return [
    `${outcome ?? status}${because(reason)} (${type}, ${eventId})`,
    ...(delivery === 'duplicate' ? ['; this delivery found it stored'] : []),
    ...(operations.length > 0 ? [`; it plans${plans}`] : []),
    ...(defect === null ? [] : [`\n${inspect(defect)}`]),
  ].join('');
}

function because(reason: string | null | undefined): string {
  return reason === undefined || reason === null ? '' : ` (${reason})`;
}

function has(result: EventResult, reason: string | undefined): boolean {
  return reason === undefined || result.reason === reason;
}

function contains(actual: unknown, expected: Readonly<Record<string, unknown>>): boolean {
  if (typeof actual !== 'object' || actual === null) return false;
  const fields = new Map<string, unknown>(Object.entries(actual));
  return Object.entries(expected).every(([name, value]) => isDeepStrictEqual(fields.get(name), value));
}

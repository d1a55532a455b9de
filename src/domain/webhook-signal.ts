/** Name of the signal that wakes a workflow, unless the operation names another. */
export const WEBHOOK_SIGNAL = 'webhook';

/** The one argument of that signal. */
export interface WebhookSignal {
  /** The business key that the workflow waits for, such as `payment:o_1`. */
  readonly key: string;
  /** JSON of the sender's choice; `null` when it gave none. */
  readonly payload: unknown;
}

/** A signal's argument as a webhook; `undefined` for anything else, which people and programs may send, too. Pure. */
export function readWebhookSignal(input: unknown): WebhookSignal | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  const { key, payload = null } = input as { readonly key?: unknown; readonly payload?: unknown };
  return typeof key === 'string' && key !== '' ? { key, payload } : undefined;
}

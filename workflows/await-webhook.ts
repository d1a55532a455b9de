import { condition, defineSignal, log, setHandler, workflowInfo } from '@temporalio/workflow';
import type { EventKey } from '../src/domain/event.js';
import { readWebhookSignal, WEBHOOK_SIGNAL } from '../src/domain/webhook-signal.js';

/** The signal that operations of kind `signal_workflow` send: one argument, `{ key, payload }`. */
export const webhookSignal = defineSignal<[unknown?]>(WEBHOOK_SIGNAL);

/** Milliseconds, or text such as `'2 days'`, as Temporal's own timers take it. */
export type Timeout = number | string;

/** A webhook that has arrived. */
export interface ReceivedWebhook<Payload = EventKey> {
  readonly key: string;
  readonly payload: Payload;
}

/** What one run hands to the next; plain JSON, for the arguments of `continueAsNew`. */
export interface CarriedWebhooks {
  /** In the order of arrival. */
  readonly received: readonly CarriedWebhook[];
}

interface CarriedWebhook extends ReceivedWebhook<unknown> {
  /** Whether a wait has been answered with it. */
  readonly taken: boolean;
}

/**
 * The webhooks of one workflow. A webhook is a fact with a name: it is kept from its arrival, whether or not somebody
 * waits for it yet, and a second one of the same key is dropped.
 */
export interface Webhooks {
  /**
   * The payload that came under this key, now or later; `undefined` when `timeout` passes first. Every wait for a key
   * gets the same payload, at once when it is there, however many wait and however often.
   */
  awaitWebhook<Payload = EventKey>(key: string): Promise<Payload>;
  awaitWebhook<Payload = EventKey>(key: string, timeout: Timeout): Promise<Payload | undefined>;
  /**
   * For workflows that cannot know the keys beforehand: the oldest webhook that no wait has been answered with, each
   * once; `undefined` when `timeout` passes first.
   */
  nextWebhook<Payload = EventKey>(): Promise<ReceivedWebhook<Payload>>;
  nextWebhook<Payload = EventKey>(timeout: Timeout): Promise<ReceivedWebhook<Payload> | undefined>;
  /** How many signals were ignored because they were no webhooks. */
  readonly malformed: () => number;
  /**
   * For the arguments of `continueAsNew`, without an `await` in between: every webhook that no wait was answered with,
   * and the newest `answered` (1,000 by default) of the others, so that their repetitions are still known.
   */
  carry(answered?: number): CarriedWebhooks;
}

/**
 * Begins to listen. Call it first thing in the workflow, with what the run before handed over; a second call in one run
 * gives the same. Its signal handler takes whatever is sent and never throws: one that threw would block the run.
 * @throws Error, which holds the run until its code is mended, when something handed over comes after a wait or a call
 * without it: it would be lost.
 */
export function receiveWebhooks(carried?: CarriedWebhooks): Webhooks {
  const { runId } = workflowInfo();
  if (listening?.runId === runId) {
    if (carried !== undefined && carried !== listening.carried) {
      throw new Error('receiveWebhooks(carried) comes too late: call it before anything else listens in this run');
    }
    return listening.webhooks;
  }
  const webhooks = listen(carried);
  listening = { runId, carried, webhooks };
  return webhooks;
}

/** `receiveWebhooks().awaitWebhook(key, timeout)`, for workflows that end within one run. */
export function awaitWebhook<Payload = EventKey>(key: string): Promise<Payload>;
export function awaitWebhook<Payload = EventKey>(key: string, timeout: Timeout): Promise<Payload | undefined>;
export function awaitWebhook(key: string, timeout?: Timeout): Promise<unknown> {
  const webhooks = receiveWebhooks();
  return timeout === undefined ? webhooks.awaitWebhook(key) : webhooks.awaitWebhook(key, timeout);
}

/** The sandbox has a module for each workflow; the run's ID stands guard in case it ever shares one. */
let listening:
  { readonly runId: string; readonly carried: CarriedWebhooks | undefined; readonly webhooks: Webhooks } | undefined;

function listen(carried: CarriedWebhooks | undefined): Webhooks {
  /** In the order of arrival, as the keys of `untaken` are. */
  const received = new Map<string, unknown>();
  const untaken = new Set<string>();
  for (const { key, payload, taken } of carried?.received ?? []) {
    received.set(key, payload);
    if (!taken) untaken.add(key);
  }
  let malformed = 0;

  setHandler(
    webhookSignal,
    (input) => {
      const webhook = readWebhookSignal(input);
      if (webhook === undefined) {
        malformed += 1;
        log.warn('ignored a signal that is no webhook: it has no key');
      } else if (!received.has(webhook.key)) {
        received.set(webhook.key, webhook.payload);
        untaken.add(webhook.key);
      }
    },
    { description: 'A webhook that this workflow may wait for. Input: {"key": "payment:o_1", "payload": {}}' },
  );

  const take = (key: string): unknown => {
    untaken.delete(key);
    return received.get(key);
  };

  const wait = async (key: string, timeout?: Timeout): Promise<unknown> =>
    (await until(() => received.has(key), timeout, `webhook ${key}`)) ? take(key) : undefined;

  const waitForNext = async (timeout?: Timeout): Promise<unknown> => {
    while (await until(() => untaken.size > 0, timeout, 'next webhook')) {
      // Another wait may have been faster.
      const [key] = untaken;
      if (key !== undefined) return { key, payload: take(key) };
    }
    return undefined;
  };

  return {
    // Payloads are JSON of the sender's choice: which type they have is for the workflow to say.
    awaitWebhook: wait,
    nextWebhook: waitForNext as Webhooks['nextWebhook'],
    malformed: () => malformed,
    carry: (answered = MAX_ANSWERED) => {
      const forgotten = Math.max(received.size - untaken.size - answered, 0);
      let passed = 0;
      return {
        received: [...received]
          .map(([key, payload]) => ({ key, payload, taken: !untaken.has(key) }))
          .filter(({ taken }) => !taken || ++passed > forgotten),
      };
    },
  };
}

const MAX_ANSWERED = 1_000;

/** Waits for a condition; without a timer where none is needed, since each is an event and an action. */
async function until(isThere: () => boolean, timeout: Timeout | undefined, summary: string): Promise<boolean> {
  if (isThere()) return true;
  if (timeout !== undefined) return condition(isThere, timeout, { summary });
  await condition(isThere);
  return true;
}

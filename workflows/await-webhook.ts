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
  /** What no wait has been answered with, in the order of arrival. */
  readonly untaken: readonly ReceivedWebhook<unknown>[];
  /** Keys of what waits have been answered with, the oldest first. Their payloads are not carried. */
  readonly answered: readonly string[];
}

/**
 * The webhooks of one workflow. A webhook is a fact with a name: it is kept from its arrival, whether or not somebody
 * waits for it yet, and a second one of the same key is dropped.
 */
export interface Webhooks {
  /**
   * The payload that came under this key, now or later; `undefined` when `timeout` passes first. Every wait for a key
   * gets the same payload, at once when it is there, however many wait and however often within one run.
   * @throws Error when a wait in an earlier run was answered with it: of that, only the key has been carried.
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
   * and the keys of the last `answered` (1,000 by default) of the others, so that their repetitions are still known.
   * The first are without bound: take them (`nextWebhook`) where senders may send what nobody asks for, since Temporal
   * refuses arguments of more than 2 MiB.
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
  /** In the order of arrival. */
  const untaken = new Map((carried?.untaken ?? []).map(({ key, payload }) => [key, payload]));
  /** In the order in which waits were first answered with them; without a payload those of earlier runs. */
  const answered = new Map<string, Answered>((carried?.answered ?? []).map((key) => [key, { kind: 'earlier' }]));
  let malformed = 0;

  const isThere = (key: string): boolean => untaken.has(key) || answered.has(key);

  setHandler(
    webhookSignal,
    (input) => {
      const webhook = readWebhookSignal(input);
      if (webhook === undefined) {
        malformed += 1;
        log.warn('ignored a signal that is no webhook: it has no key');
      } else if (!isThere(webhook.key)) {
        untaken.set(webhook.key, webhook.payload);
      }
    },
    { description: 'A webhook that this workflow may wait for. Input: {"key": "payment:o_1", "payload": {}}' },
  );

  const take = (key: string): unknown => {
    const known = answered.get(key) ?? { kind: 'now', payload: untaken.get(key) };
    if (known.kind === 'earlier') {
      throw new Error(
        `webhook ${JSON.stringify(key)} was answered in an earlier run: carry what you need of it yourself`,
      );
    }
    untaken.delete(key);
    answered.set(key, known);
    return known.payload;
  };

  const wait = async (key: string, timeout?: Timeout): Promise<unknown> =>
    (await until(() => isThere(key), timeout, `webhook ${key}`)) ? take(key) : undefined;

  const waitForNext = async (timeout?: Timeout): Promise<unknown> => {
    while (await until(() => untaken.size > 0, timeout, 'next webhook')) {
      // Another wait may have been faster.
      const [key] = untaken.keys();
      if (key !== undefined) return { key, payload: take(key) };
    }
    return undefined;
  };

  return {
    // Payloads are JSON of the sender's choice: which type they have is for the workflow to say.
    awaitWebhook: wait,
    nextWebhook: waitForNext as Webhooks['nextWebhook'],
    malformed: () => malformed,
    carry: (most = MAX_ANSWERED) => ({
      untaken: [...untaken].map(([key, payload]) => ({ key, payload })),
      answered: [...answered.keys()].slice(Math.max(answered.size - most, 0)),
    }),
  };
}

type Answered = { readonly kind: 'now'; readonly payload: unknown } | { readonly kind: 'earlier' };

const MAX_ANSWERED = 1_000;

/** Waits for a condition; without a timer where none is needed, since each is an event and an action. */
async function until(isThere: () => boolean, timeout: Timeout | undefined, summary: string): Promise<boolean> {
  if (isThere()) return true;
  // A signal and the timer may come in one task; where an interceptor holds signals a moment, the timer is heard first.
  if (timeout !== undefined) return (await condition(isThere, timeout, { summary })) || isThere();
  await condition(isThere);
  return true;
}

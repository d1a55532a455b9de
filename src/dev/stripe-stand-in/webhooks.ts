import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StripeEvent } from './books.js';

export interface WebhookTarget {
  readonly url: string;
  readonly secret: string;
}

export interface WebhookSender {
  readonly sendTo: (target: WebhookTarget | null) => void;
  readonly send: (event: StripeEvent) => void;
  readonly stop: () => void;
}

/** A delivery that is not answered 2xx comes again this often, each time signed anew, and later each time. */
const ATTEMPTS = 8;
const FIRST_PAUSE_MS = 250;
const ANSWER_WITHIN_MS = 10_000;

/** Signs and delivers events to at most one endpoint, each on its own, so in no particular order. */
export function createWebhookSender(): WebhookSender {
  const stopping = new AbortController();
  let target: WebhookTarget | null = null;
  return {
    sendTo: (next) => {
      target = next;
    },
    send: (event) => {
      if (target !== null) void deliver(target, JSON.stringify(event), stopping.signal);
    },
    stop: () => {
      stopping.abort();
    },
  };
}

async function deliver(target: WebhookTarget, body: string, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt++) {
    if (await isTaken(target, body, signal)) return;
    await sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1), undefined, { signal }).catch(() => undefined);
  }
}

async function isTaken({ url, secret }: WebhookTarget, body: string, stopping: AbortSignal): Promise<boolean> {
  const time = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Stripe-Signature': `t=${time},v1=${signature}` },
      body,
      signal: AbortSignal.any([stopping, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
    });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}

import { CancellationScope, continueAsNew, isCancellation } from '@temporalio/workflow';
import { awaitWebhook, receiveWebhooks, type CarriedWebhooks } from '../../workflows/index.js';

export { fulfilOrder } from './own-workflow-sample.js';

/** Two waits for one key at once, and a third after both. */
export async function waitThrice(key: string): Promise<readonly unknown[]> {
  const both = await Promise.all([awaitWebhook(key), awaitWebhook(key, '1 hour')]);
  return [...both, await awaitWebhook(key)];
}

/** What came in time, and what came in the end. */
export async function waitInVain(key: string, timeoutMs: number): Promise<readonly unknown[]> {
  const inTime = await awaitWebhook(key, timeoutMs);
  return [inTime === undefined, inTime, await awaitWebhook(key)];
}

/** Takes what comes, `count` times, and tells how many signals were no webhooks. */
export async function takeSome(
  count: number,
): Promise<{ readonly taken: readonly unknown[]; readonly malformed: number }> {
  const webhooks = receiveWebhooks();
  const taken: unknown[] = [];
  for (let index = 0; index < count; index += 1) taken.push(await webhooks.nextWebhook());
  return { taken, malformed: webhooks.malformed() };
}

/** A cancelled wait takes nothing: the next one gets it. */
export async function waitCancelled(key: string): Promise<readonly unknown[]> {
  try {
    return [await awaitWebhook(key)];
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return CancellationScope.nonCancellable(async () => ['cancelled', await awaitWebhook(key)]);
  }
}

/** Listens too late for what the run before has handed over. */
export async function listenTooLate(run: number, carried?: CarriedWebhooks): Promise<readonly unknown[]> {
  if (run === 1) {
    const webhooks = receiveWebhooks(carried);
    await webhooks.awaitWebhook('first');
    return continueAsNew<typeof listenTooLate>(2, webhooks.carry());
  }
  const other = await awaitWebhook('other', 1);
  return [other, await receiveWebhooks(carried).awaitWebhook('early', 1)];
}

/** Hands the same over once more, as helper functions that do not know of each other may. */
export async function listenTwice(run: number, carried?: CarriedWebhooks): Promise<unknown> {
  const webhooks = receiveWebhooks(carried);
  if (run === 2) return receiveWebhooks(carried).awaitWebhook('early');
  await webhooks.awaitWebhook('first');
  return continueAsNew<typeof listenTwice>(2, webhooks.carry());
}

export interface Chain {
  readonly run: number;
  readonly got: readonly unknown[];
  readonly webhooks?: CarriedWebhooks;
}

/**
 * Three runs: what was answered in the first is known in the last, without its payload; what nobody asked for is all
 * there.
 */
export async function carryOn({ run, got, webhooks: carried }: Chain): Promise<readonly unknown[]> {
  const webhooks = receiveWebhooks(carried);
  if (run < 3) {
    const more = await webhooks.awaitWebhook(`run:${run}`);
    return continueAsNew<typeof carryOn>({ run: run + 1, got: [...got, more], webhooks: webhooks.carry() });
  }
  const again = await webhooks.awaitWebhook('run:1').catch((error: unknown) => String(error));
  const unasked = await webhooks.nextWebhook();
  const last = await webhooks.nextWebhook();
  return [...got, again, unasked, last];
}

/** Takes `count` webhooks, and begins a run that only knows of them. */
export async function takeAndGoOn(count: number, carried?: CarriedWebhooks): Promise<number> {
  const webhooks = receiveWebhooks(carried);
  for (let index = 0; index < count; index += 1) await webhooks.nextWebhook();
  return count > 0 ? continueAsNew<typeof takeAndGoOn>(0, webhooks.carry()) : webhooks.carry().answered.length;
}

/** What is handed on when no more than `answered` are kept of those that were answered. */
export async function carryFew(keys: readonly string[], answered: number): Promise<CarriedWebhooks> {
  const webhooks = receiveWebhooks();
  for (const key of keys) await webhooks.awaitWebhook(key);
  return webhooks.carry(answered);
}

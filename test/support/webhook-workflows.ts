import { condition, continueAsNew, defineSignal, setHandler } from '@temporalio/workflow';
import { receiveWebhooks, type CarriedWebhooks, type Webhooks } from '../../workflows/await-webhook.js';

/** Ends a workflow of the interleavings, once all has been sent. */
export const finishSignal = defineSignal('finish');
/** The signal of those who do without oncehook. */
export const arrivedSignal = defineSignal<[string]>('arrived');

export interface InterleavingInput {
  /** Keys that are waited for at once; the next list begins in the next run, when all of this one have come. */
  readonly rounds: readonly (readonly string[])[];
  readonly tally?: Tally;
  readonly webhooks?: CarriedWebhooks;
  /** Whether `finish` has come in an earlier run. */
  readonly finished?: boolean;
}

/** What became of the keys. */
export interface Tally {
  /** How often each had its effect. */
  readonly effects: Readonly<Record<string, number>>;
  /** Of those that had come before anybody waited for them. */
  readonly eventFirst: number;
  /** How many signals were there in the end that nobody had asked for. */
  readonly left: number;
}

const NOTHING: Tally = { effects: {}, eventFirst: 0, left: 0 };

/** Waits for keys that it knows. */
export async function awaitKeys(input: InterleavingInput): Promise<Tally> {
  const { rounds, tally = NOTHING } = input;
  const webhooks = receiveWebhooks(input.webhooks);
  const isFinished = listenForFinish(input);
  const [keys = [], ...later] = rounds;
  const effects = { ...tally.effects };
  const early = new Set(webhooks.carry().untaken.map(({ key }) => key));
  await Promise.all(
    keys.map(async (key) => {
      await webhooks.awaitWebhook(key);
      effects[key] = (effects[key] ?? 0) + 1;
    }),
  );
  const eventFirst = tally.eventFirst + keys.filter((key) => early.has(key)).length;
  const now = { effects, eventFirst, left: 0 };
  if (later.length > 0) {
    const carried = { webhooks: webhooks.carry(), finished: isFinished() };
    return continueAsNew<typeof awaitKeys>({ rounds: later, tally: now, ...carried });
  }
  await condition(isFinished);
  return { ...now, left: untaken(webhooks) };
}

/** Takes what comes, in runs of as many webhooks as its rounds have keys. */
export async function takeAny(input: InterleavingInput): Promise<Tally> {
  const { rounds, tally = NOTHING } = input;
  const webhooks = receiveWebhooks(input.webhooks);
  const isFinished = listenForFinish(input);
  const [keys = [], ...later] = rounds;
  const effects = { ...tally.effects };
  for (const _any of keys) {
    const { key } = await webhooks.nextWebhook();
    effects[key] = (effects[key] ?? 0) + 1;
  }
  const now = { effects, eventFirst: 0, left: 0 };
  if (later.length > 0) {
    const carried = { webhooks: webhooks.carry(), finished: isFinished() };
    return continueAsNew<typeof takeAny>({ rounds: later, tally: now, ...carried });
  }
  await condition(isFinished);
  return { ...now, left: untaken(webhooks) };
}

/** What people write who have nothing else: a handler, and each signal has its effect. */
export async function plainSignals(input: InterleavingInput): Promise<Tally> {
  const isFinished = listenForFinish(input);
  const effects: Record<string, number> = {};
  setHandler(arrivedSignal, (key) => {
    effects[key] = (effects[key] ?? 0) + 1;
  });
  await condition(isFinished);
  return { effects, eventFirst: 0, left: 0 };
}

function listenForFinish({ finished = false }: InterleavingInput): () => boolean {
  let isFinished = finished;
  setHandler(finishSignal, () => {
    isFinished = true;
  });
  return () => isFinished;
}

function untaken(webhooks: Webhooks): number {
  return webhooks.carry().untaken.length;
}

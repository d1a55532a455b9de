import { condition, continueAsNew, defineSignal, setHandler } from '@temporalio/workflow';
import { receiveWebhooks, type CarriedWebhooks } from '../../workflows/await-webhook.js';

/** Ends a workflow of the interleavings, once all has been sent. */
export const finishSignal = defineSignal('finish');
/** The signal of those who do without oncehook. */
export const arrivedSignal = defineSignal<[string]>('arrived');

export interface InterleavingInput {
  /** Keys that are waited for at once; the next list begins in the next run, when all of this one have come. */
  readonly rounds: readonly (readonly string[])[];
  readonly tally?: Tally;
  readonly webhooks?: CarriedWebhooks;
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
export async function awaitKeys({ rounds, tally = NOTHING, webhooks: carried }: InterleavingInput): Promise<Tally> {
  const webhooks = receiveWebhooks(carried);
  const finished = untilFinished();
  const [keys = [], ...later] = rounds;
  const effects = { ...tally.effects };
  const early = new Set(webhooks.carry().received.map(({ key }) => key));
  await Promise.all(
    keys.map(async (key) => {
      await webhooks.awaitWebhook(key);
      effects[key] = (effects[key] ?? 0) + 1;
    }),
  );
  const eventFirst = tally.eventFirst + keys.filter((key) => early.has(key)).length;
  if (later.length > 0) {
    const next = { rounds: later, tally: { effects, eventFirst, left: 0 }, webhooks: webhooks.carry() };
    return continueAsNew<typeof awaitKeys>(next);
  }
  await finished;
  const left = webhooks.carry().received.filter(({ taken }) => !taken).length;
  return { effects, eventFirst, left };
}

/** Takes what comes, in runs of as many webhooks as its rounds have keys. */
export async function takeAny({ rounds, tally = NOTHING, webhooks: carried }: InterleavingInput): Promise<Tally> {
  const webhooks = receiveWebhooks(carried);
  let finished = false;
  void untilFinished().then(() => (finished = true));
  const [keys = [], ...later] = rounds;
  const effects = { ...tally.effects };
  for (let taken = 0; taken < keys.length; taken += 1) {
    const { key } = await webhooks.nextWebhook();
    effects[key] = (effects[key] ?? 0) + 1;
  }
  if (later.length > 0) {
    const next = { rounds: later, tally: { ...tally, effects }, webhooks: webhooks.carry() };
    return continueAsNew<typeof takeAny>(next);
  }
  await condition(() => finished);
  const left = webhooks.carry().received.filter(({ taken }) => !taken).length;
  return { effects, eventFirst: 0, left };
}

/** What people write who do not know of this: each signal has its effect, and each run begins with what is sent to it. */
export async function plainSignals({ rounds, tally = NOTHING }: InterleavingInput): Promise<Tally> {
  const finished = untilFinished();
  const effects = { ...tally.effects };
  setHandler(arrivedSignal, (key) => {
    effects[key] = (effects[key] ?? 0) + 1;
  });
  void rounds;
  await finished;
  return { effects, eventFirst: 0, left: 0 };
}

function untilFinished(): Promise<void> {
  let finished = false;
  setHandler(finishSignal, () => {
    finished = true;
  });
  return condition(() => finished);
}

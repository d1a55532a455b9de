import { describe, expect, it, vi, type TestContext } from 'vitest';
import { CHECKPOINT_NAMES, type CheckpointName } from '../../src/checkpoints.js';
import { DOUBTFUL_POINTS, NO_TEMPORAL, SCENES } from '../support/crash-scenes.js';
import { stackFor } from '../support/stack.js';

vi.setConfig({ testTimeout: 180_000 });

describe.concurrent('what fails once at', () => {
  it.for(CHECKPOINT_NAMES)('%s is made good by the same process', (name, test) => failsAt(test, name, 'resend'));
  it.for(DOUBTFUL_POINTS)('%s sends no second copy under hold', (name, test) => failsAt(test, name, 'hold'));
});

async function failsAt(test: TestContext, name: CheckpointName, mail: 'resend' | 'hold'): Promise<void> {
  const { role, copies } = SCENES[name];
  const stack = await stackFor(test, { mail });
  const event = await stack.payment();
  const failing = await stack.start(role, { checkpoint: `${name}:error` });
  if (role === 'receiver') await stack.start('worker');
  else await stack.start('receiver', name === 'sweeper.after-claim' ? { env: NO_TEMPORAL } : {});
  expect(await stack.sender.deliverUntilAccepted(event)).toMatchObject({ status: 200 });
  await failing.logged(`checkpoint reached: ${name}:error`);

  const { mails, runs, deliveries } = await stack.untilSound();
  expect(mails).toHaveLength(copies[mail]);
  expect(runs).toHaveLength(1);
  // A failure before the answer is the sender's to make good, one after it is ours.
  const isBeforeAnswer = ['receiver.body-read', 'receiver.before-insert', 'receiver.after-commit'].includes(name);
  expect(deliveries.map(({ status }) => status)).toEqual(isBeforeAnswer ? [503, 200] : [200]);
}

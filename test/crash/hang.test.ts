import { describe, expect, it, vi, type TestContext } from 'vitest';
import { CHECKPOINT_NAMES, type CheckpointName } from '../../src/checkpoints.js';
import { DOUBTFUL_POINTS, NO_TEMPORAL, SCENES } from '../support/crash-scenes.js';
import { stackFor } from '../support/stack.js';

// The slowest hold a row's lock in a transaction that the server ends after 30 s.
vi.setConfig({ testTimeout: 240_000 });

describe.concurrent('a process that hangs for ever at', () => {
  it.for(CHECKPOINT_NAMES)('%s holds nothing up for ever', (name, test) => hangsAt(test, name, 'resend'));
  it.for(DOUBTFUL_POINTS)('%s sends no second copy under hold', (name, test) => hangsAt(test, name, 'hold'));
});

async function hangsAt(test: TestContext, name: CheckpointName, mail: 'resend' | 'hold'): Promise<void> {
  const { role, copies } = SCENES[name];
  const stack = await stackFor(test, { mail, senderPatienceMs: 3_000 });
  const event = await stack.payment();
  if (role === 'worker') await stack.start('receiver', name === 'sweeper.after-claim' ? { env: NO_TEMPORAL } : {});
  const hanging = await stack.start(role, { checkpoint: `${name}:hang` });
  const accepted = stack.sender.deliverUntilAccepted(event);
  await hanging.logged(`checkpoint reached: ${name}:hang`);

  // The process itself stays, as part of the service, beside one that is well.
  if (role === 'receiver') await stack.start('receiver');
  await stack.start('worker');
  expect(await accepted).toMatchObject({ status: 200 });
  const { mails, runs } = await stack.untilSound(120_000);
  expect(mails).toHaveLength(copies[mail]);
  expect(runs).toHaveLength(1);
}

import { describe, expect, it, vi, type TestContext } from 'vitest';
import { CHECKPOINT_NAMES, type CheckpointName } from '../../src/checkpoints.js';
import { NO_TEMPORAL, OPERATION_POINTS, SCENES, whatIsLeft } from '../support/crash-scenes.js';
import { stackFor } from '../support/stack.js';

/** As migrations/0001_inbox.sql has it. */
const SWEEPER_GRACE_MS = 5_000;

// The slowest is a sweeper that dies with its claim, which comes back after 30 s.
vi.setConfig({ testTimeout: 180_000 });

it('every checkpoint has a scene, and nothing else has', () => {
  expect(Object.keys(SCENES).sort()).toEqual([...CHECKPOINT_NAMES].sort());
});

describe.concurrent('a process killed at', () => {
  it.for(CHECKPOINT_NAMES)('%s loses nothing and repeats nothing', (name, test) => killedAt(test, name, 'resend'));
  it.for(OPERATION_POINTS)('%s sends no second copy under hold', (name, test) => killedAt(test, name, 'hold'));
});

async function killedAt(test: TestContext, name: CheckpointName, mail: 'resend' | 'hold'): Promise<void> {
  const { role, left, copies } = SCENES[name];
  const stack = await stackFor(test, { mail });
  const event = await stack.payment();
  // What dies is alone with what it dies of, so what it leaves stays as it is until somebody goes on.
  if (role === 'worker') await stack.start('receiver', name === 'sweeper.after-claim' ? { env: NO_TEMPORAL } : {});
  const doomed = await stack.start(role, { checkpoint: `${name}:kill` });
  const sent = performance.now();
  const accepted = stack.sender.deliverUntilAccepted(event);
  expect(await doomed.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await doomed.logged(`checkpoint reached: ${name}:kill`);
  // On a machine so busy that this took longer than the sweeper leaves a fresh row alone, it may have claimed the row.
  const isPossiblySwept = role === 'worker' && performance.now() - sent > SWEEPER_GRACE_MS;
  const seen = await whatIsLeft(stack, event);
  expect(seen).toEqual(isPossiblySwept ? { ...left, isDispatched: seen.isDispatched || left.isDispatched } : left);

  if (role === 'receiver') await stack.start('receiver');
  await stack.start('worker');
  await accepted;
  const settled = await stack.untilSound();
  expect(settled.mails).toHaveLength(copies[mail]);
  expect(settled.runs).toHaveLength(1);

  expect(await stack.sender.deliver(event)).toMatchObject({ status: 200, said: 'duplicate' });
  const { mails, runs } = await stack.untilSound();
  expect(mails).toHaveLength(copies[mail]);
  expect(runs).toHaveLength(1);
}

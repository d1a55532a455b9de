import { describe, expect, it, vi, type TestContext } from 'vitest';
import type { CheckpointName } from '../../src/checkpoints.js';
import { SCENES } from '../support/crash-scenes.js';
import { stackFor, type Stack } from '../support/stack.js';
import { until } from '../support/until.js';

vi.setConfig({ testTimeout: 240_000 });

type Mail = 'resend' | 'hold';

/** Where a process that comes back late would still have something to do, and how often the mail has gone out then. */
const LATECOMERS: readonly (readonly [CheckpointName, Mail, copies: number])[] = [
  ['receiver.after-commit', 'resend', 1],
  ['apply.before-commit', 'resend', 1],
  ['operation.intent-stored', 'resend', 1],
  // Others take it for sent or not, who knows; it knows that it was not, and says so.
  ['operation.intent-stored', 'hold', 1],
  ['operation.answered', 'resend', 2],
  ['operation.answered', 'hold', 1],
];

// A process that stands still is dead to everybody else, and then it is not: the second life must change nothing.
describe.concurrent('a process that is halted and goes on when others have done its work', () => {
  it.for(LATECOMERS)('at %s, mail under %s', ([name, mail, copies], test) => haltedAt(test, name, mail, copies));
});

async function haltedAt(test: TestContext, name: CheckpointName, mail: Mail, copies: number): Promise<void> {
  const { role } = SCENES[name];
  const stack = await stackFor(test, { mail, senderPatienceMs: 3_000 });
  const event = await stack.payment();
  if (role === 'worker') await stack.start('receiver');
  // The delay holds it at its point for as long as it takes to halt it there.
  const halted = await stack.start(role, { checkpoint: `${name}:delay` });
  const accepted = stack.sender.deliverUntilAccepted(event);
  await halted.logged(`checkpoint reached: ${name}:delay`);
  halted.signal('SIGSTOP');

  if (role === 'receiver') await stack.start('receiver');
  await stack.start('worker');
  expect(await accepted).toMatchObject({ status: 200 });
  await stack.untilSound(120_000);

  halted.signal('SIGCONT');
  // What it still had in hand it has said, done or dropped when it can be asked to end.
  await until('it answers again', () => isAlive(halted.adminPort), 30_000);
  halted.signal('SIGTERM');
  expect(await halted.exited).toEqual({ code: 0, signal: null });
  await letTheSweeperLook(stack);
  const { mails, operations } = await stack.untilSound();
  expect(mails).toHaveLength(copies);
  // An answer that comes late is still an answer: what was in doubt is in doubt no more.
  expect(operations).toMatchObject([{ status: 'confirmed' }]);
}

/** An effect whose run is over waits a minute for it. */
async function letTheSweeperLook({ database }: Stack): Promise<void> {
  await database.rows(`update oncehook.operations set next_attempt_at = now() where status = 'planned'`);
}

async function isAlive(adminPort: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).ok;
  } catch {
    return false;
  }
}

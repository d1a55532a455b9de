import { afterAll, describe, expect, it, vi, type TestContext } from 'vitest';
import type { CheckpointName } from '../../src/checkpoints.js';
import { OPERATION_POINTS } from '../support/crash-scenes.js';
import { LOCALSTRIPE, startLocalstripe, type Localstripe } from '../support/localstripe.js';
import {
  expectedRefund,
  localstripePeer,
  refundScene,
  standInPeer,
  type OperationState,
  type RefundPeer,
  type RefundScene,
} from '../support/refund-scene.js';
import { until } from '../support/until.js';

vi.setConfig({ testTimeout: 240_000 });

/** What a process that dies at a point leaves: the row, and how many refunds were executed by then. */
const LEFT: Readonly<Record<string, readonly [status: OperationState['status'], executed: number]>> = {
  'operation.before-intent': ['planned', 0],
  'operation.intent-stored': ['sending', 0],
  'operation.answered': ['sending', 1],
  'operation.answer-stored': ['confirmed', 1],
};

it('every point of an effect has a scene', () => {
  expect(Object.keys(LEFT).sort()).toEqual([...OPERATION_POINTS].sort());
});

const PEERS: readonly (readonly [name: string, open: () => Promise<RefundPeer>])[] = [
  ['the stand-in', standInPeer],
  // Without any idempotency: what keeps a second refund from being made there is the look alone.
  ...(LOCALSTRIPE === undefined ? [] : [['localstripe', async () => localstripePeer(await localstripe())] as const]),
];

/** One for all: payments keep the tests apart, and a Python program takes long to start. */
let shared: Promise<Localstripe> | undefined;
const localstripe = (): Promise<Localstripe> => (shared ??= startLocalstripe());
afterAll(async () => (await shared)?.stop());

if (LOCALSTRIPE === undefined) it.skip('localstripe cannot be asked: ONCEHOOK_TEST_LOCALSTRIPE names no program');

describe.for(PEERS)('a refund at %s', ([, openPeer]) => {
  describe.concurrent('is made once when the worker', () => {
    // First, since these wait longest.
    it.for(['operation.intent-stored', 'operation.answered'] as const)(
      'is halted at %s and goes on when others have done its work',
      (name, test) => haltedAt(test, name, openPeer),
    );
    it.for(OPERATION_POINTS)('is killed at %s', (name, test) => killedAt(test, name, openPeer));
    it.for(OPERATION_POINTS)('fails once at %s', (name, test) => failsAt(test, name, openPeer));
    it.for(OPERATION_POINTS)('hangs for ever at %s', (name, test) => hangsAt(test, name, openPeer));
    it('loses the answer', (test) => losesTheAnswer(test, openPeer));
  });
});

describe.concurrent('a refund at the stand-in is made once when the worker', () => {
  it('is killed between the execution and its answer', async (test) => {
    const peer = await standInPeer();
    const scene = await refundScene(test, () => Promise.resolve(peer));
    await peer.standIn.fail({ method: 'POST', path: '/v1/refunds', kind: 'hang', executes: true });
    const doomed = await scene.startWorker();
    await until('the refund is executed', async () => (await scene.executed()).length === 1, 30_000);
    await doomed.kill();
    expect(await scene.state()).toMatchObject({ status: 'sending', attempts: 1 });
    await scene.startWorker();
    await isMadeOnce(scene);
    expect(await scene.state()).toMatchObject({ attempts: 1 });
  });

  it('is one of two that are killed one after the other', async (test) => {
    const scene = await refundScene(test, standInPeer);
    const first = await scene.startWorker({ checkpoint: 'operation.intent-stored:kill' });
    await first.exited;
    const second = await scene.startWorker({ checkpoint: 'operation.answered:kill' });
    await second.exited;
    await scene.startWorker();
    await isMadeOnce(scene);
    expect(await scene.state()).toMatchObject({ attempts: 2, lostAnswers: 1 });
  });
});

async function isMadeOnce(scene: RefundScene): Promise<void> {
  expect(await scene.untilConfirmed()).toEqual(await expectedRefund(scene));
}

async function killedAt(test: TestContext, name: CheckpointName, openPeer: () => Promise<RefundPeer>): Promise<void> {
  const [status, executed] = LEFT[name]!;
  const scene = await refundScene(test, openPeer);
  const doomed = await scene.startWorker({ checkpoint: `${name}:kill` });
  expect(await doomed.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect((await scene.state()).status).toBe(status);
  expect(await scene.executed()).toHaveLength(executed);
  await scene.startWorker();
  await isMadeOnce(scene);
}

async function failsAt(test: TestContext, name: CheckpointName, openPeer: () => Promise<RefundPeer>): Promise<void> {
  const scene = await refundScene(test, openPeer);
  const failing = await scene.startWorker({ checkpoint: `${name}:error` });
  await failing.logged(`checkpoint reached: ${name}:error`);
  await isMadeOnce(scene);
}

async function hangsAt(test: TestContext, name: CheckpointName, openPeer: () => Promise<RefundPeer>): Promise<void> {
  const scene = await refundScene(test, openPeer);
  const hanging = await scene.startWorker({ checkpoint: `${name}:hang` });
  await hanging.logged(`checkpoint reached: ${name}:hang`);
  // It stays, beside one that is well.
  await scene.startWorker();
  await isMadeOnce(scene);
}

async function haltedAt(test: TestContext, name: CheckpointName, openPeer: () => Promise<RefundPeer>): Promise<void> {
  const scene = await refundScene(test, openPeer);
  // The delay holds it at its point for as long as it takes to halt it there.
  const halted = await scene.startWorker({ checkpoint: `${name}:delay` });
  await halted.logged(`checkpoint reached: ${name}:delay`);
  halted.signal('SIGSTOP');
  await scene.startWorker();
  await isMadeOnce(scene);
  halted.signal('SIGCONT');
  await until('it answers again', () => isAlive(halted.adminPort), 30_000);
  halted.signal('SIGTERM');
  expect(await halted.exited).toEqual({ code: 0, signal: null });
  // What it still had in hand it has said or dropped by now.
  await isMadeOnce(scene);
}

async function losesTheAnswer(test: TestContext, openPeer: () => Promise<RefundPeer>): Promise<void> {
  const scene = await refundScene(test, openPeer);
  await scene.peer.loseNextAnswer();
  await scene.startWorker();
  await isMadeOnce(scene);
  expect(await scene.state()).toMatchObject({ attempts: 1, lostAnswers: 1 });
}

async function isAlive(adminPort: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).ok;
  } catch {
    return false;
  }
}

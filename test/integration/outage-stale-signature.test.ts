import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { NO_TEMPORAL } from '../support/crash-scenes.js';
import { compiled, ROOT } from '../support/dist.js';
import { send } from '../support/http-client.js';
import { SECRET, stackFor, type Stack } from '../support/stack.js';
import { stripeSignature, unixNow } from '../support/stripe-signing.js';
import { until } from '../support/until.js';

vi.setConfig({ testTimeout: 120_000 });

const TOLERANCE_MS = 5_000;

// C05: https://github.com/stripe/stripe-dotnet/issues/1183
it('the time of a signature counts at the door only: sweeper and replay work from the row', async (test) => {
  const stack = await stackFor(test, { source: { tolerance: `${TOLERANCE_MS}ms` } });
  const receiver = await stack.start('receiver', { env: NO_TEMPORAL });
  const swept = await stack.payment();
  const replayed = await stack.payment();
  // The payment does not match its order until somebody corrects the order.
  await setTotal(stack, replayed.data.object.metadata.order_id, 1);
  const signedAt = unixNow();
  for (const event of [swept, replayed]) {
    expect(await stack.sender.deliver(event)).toMatchObject({ said: 'accepted' });
  }
  const body = JSON.stringify(swept);
  const headers = { 'Stripe-Signature': stripeSignature(body, SECRET, signedAt) };
  await until('the signature is stale', () => Date.now() > signedAt * 1_000 + TOLERANCE_MS + 2_000);
  expect(await send(receiver.port, { body, headers })).toMatchObject({ status: 401 });

  await stack.start('worker');
  await until(
    'the sweeper has found both',
    async () => {
      const rows = new Map((await stack.evidence()).inbox.map(({ eventId, status }) => [eventId, status]));
      return rows.get(swept.id) === 'done' && rows.get(replayed.id) === 'quarantined';
    },
    60_000,
  );
  await setTotal(stack, replayed.data.object.metadata.order_id, 4200);
  const args = ['events', 'replay', replayed.id, '--by', 'ana', '--reason', 'order corrected', '--wait'];
  expect(await oncehook(stack, args)).toBe(0);
  await stack.untilSound();
});

async function setTotal({ database }: Stack, orderId: unknown, totalMinor: number): Promise<void> {
  await database.rows('update oncehook.orders set total_minor = $2 where id = $1', [orderId, totalMinor]);
}

/** Runs a command to its end; its exit code. */
async function oncehook({ env }: Stack, args: readonly string[]): Promise<unknown> {
  const child = spawn(process.execPath, [compiled('src/main/cli.js'), ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: 'ignore',
  });
  const [code] = (await once(child, 'exit')) as unknown[];
  return code;
}

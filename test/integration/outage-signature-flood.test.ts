import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, it, vi } from 'vitest';
import { openDatabase } from '../support/database.js';
import { flood } from '../support/flood.js';
import { rawPost, send } from '../support/http-client.js';
import { SENDER_ENV, SENDER_NAMES, SENDER_SOURCES, senderEvent, signAs, type SenderName } from '../support/senders.js';
import { createServiceGroup } from '../support/service-group.js';
import type { ServiceProcess } from '../support/service-process.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

vi.setConfig({ testTimeout: 180_000 });

const CONNECTIONS = 200;
const SECONDS = 30;
const GOOD_EVERY_MS = 100;
const GOOD_WITHIN_MS = 1_000;

/** Resident memory may still grow while V8 finds its size, and then must not. */
const SETTLED_AFTER_S = 10;
const GROWTH_BYTES = 64 * 1024 * 1024;
const CEILING_BYTES = 400 * 1024 * 1024;

it(`${CONNECTIONS} connections with bad signatures for ${SECONDS} s: every good event is answered within a second`, async ({
  onTestFinished,
}) => {
  const database = await openDatabase();
  const dir = openTempDir();
  const services = createServiceGroup();
  onTestFinished(async () => {
    await services.close();
    await database.drop();
    removeDir(dir);
  });
  const configFile = join(dir, 'oncehook.yaml');
  writeFileSync(configFile, JSON.stringify({ version: 1, sources: SENDER_SOURCES }));
  const receiver = await services.start('receiver', {
    ...SENDER_ENV,
    ONCEHOOK_CONFIG: configFile,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_TASK_QUEUE: `flood-${randomBytes(6).toString('hex')}`,
  });

  const { port } = receiver;
  const flooding = flood({ port, connections: CONNECTIONS, seconds: SECONDS, requests: badRequests() });
  const [result, good, memory] = await Promise.all([flooding, sendGoodEvents(receiver), watchMemory(receiver)]);

  const refused = result.statuses['401'] ?? 0;
  const slowest = Math.max(...good.map(({ ms }) => ms));
  process.stderr.write(
    `tests: ${Math.round(refused / SECONDS)} bad signatures a second refused (slowest ${Math.round(result.slowestMs)} ms), ` +
      `${good.length} good events answered, slowest ${Math.round(slowest)} ms; ` +
      `memory ${memory.map((bytes) => Math.round(bytes / 1024 / 1024)).join(' ')} MiB\n`,
  );
  expect(result).toMatchObject({ statuses: { 401: refused }, broken: 0 });
  expect(Object.keys(result.statuses)).toEqual(['401']);
  expect(refused).toBeGreaterThan(CONNECTIONS * SECONDS);

  expect(good.length).toBeGreaterThan((0.8 * SECONDS * 1000) / GOOD_EVERY_MS);
  expect(good.filter(({ status, body }) => status !== 200 || body !== '{"status":"accepted"}')).toEqual([]);
  expect(slowest).toBeLessThan(GOOD_WITHIN_MS);
  const rows = await database.rows<{ count: number }>('select count(*)::integer from oncehook.webhook_inbox');
  expect(rows).toEqual([{ count: good.length }]);

  const settled = memory.slice(SETTLED_AFTER_S);
  const half = Math.floor(settled.length / 2);
  expect(average(settled.slice(half)) - average(settled.slice(0, half))).toBeLessThan(GROWTH_BYTES);
  expect(Math.max(...memory)).toBeLessThan(CEILING_BYTES);
  expect(await metric(receiver, 'oncehook_body_bytes_in_memory')).toBe(0);

  await receiver.stop();
  const refusals = receiver.lines.filter(({ msg, outcome }) => msg === 'delivery' && outcome === 'invalid_signature');
  const leftOut = receiver.lines.filter(({ msg }) => msg === 'log lines left out');
  const counted = leftOut.reduce((sum, { suppressed }) => sum + Number(suppressed), 0);
  expect(refusals.length + counted).toBe(refused);
  // Ten a second for each source, and for each of the few causes that are looked for.
  expect(refusals.length).toBeLessThan(SENDER_NAMES.length * 10 * 2 * (SECONDS + 2));
});

/** Requests of every sender's that lack nothing but a right digest; some are large, and one is made to cost guesses. */
function badRequests(): readonly Buffer[] {
  return SENDER_NAMES.flatMap((sender) =>
    [200, 200, 200, 200, 200, 2_000, 2_000, 30_000].map((length, index) => {
      const event = senderEvent(sender, `bad_${index}`, 'test.created');
      const { path, headers } = signAs(sender, event);
      const text =
        index === 7 ? '[['.repeat(length) : `${String(event.body).slice(0, -1)},"pad":"${'x'.repeat(length)}"}`;
      return rawPost(path, Object.entries(headers), Buffer.from(text));
    }),
  );
}

/** One every so often, whatever became of the one before, from each sender in turn. */
async function sendGoodEvents({ port }: ServiceProcess): Promise<readonly Awaited<ReturnType<typeof send>>[]> {
  const answers: ReturnType<typeof send>[] = [];
  const until = performance.now() + SECONDS * 1000;
  for (let index = 0; performance.now() < until; index += 1) {
    const sender: SenderName = SENDER_NAMES[index % SENDER_NAMES.length]!;
    answers.push(send(port, signAs(sender, senderEvent(sender, `good_${index}`, 'test.created'))));
    await sleep(GOOD_EVERY_MS);
  }
  return Promise.all(answers);
}

/** Resident bytes, once a second. */
async function watchMemory(receiver: ServiceProcess): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let second = 0; second < SECONDS; second += 1) {
    await sleep(1_000);
    samples.push(await metric(receiver, 'process_resident_memory_bytes'));
  }
  return samples;
}

async function metric({ adminPort }: ServiceProcess, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

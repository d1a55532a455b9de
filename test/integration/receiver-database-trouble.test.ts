import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/db/migrate.js';
import { startPostgres, type RunningPostgres } from '../../src/dev/postgres.js';
import { createLogger } from '../../src/observability/logger.js';
import { childrenOf, signalProcess } from '../../src/dev/processes.js';
import { deliver, send, type Answer } from '../support/http-client.js';
import { SECRET, startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import { stripeEvent } from '../support/stripe-event.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

// A server of our own, since it is stopped, paused and cut.
let dir: string;
let postgres: RunningPostgres;
let receiver: RunningReceiver;

beforeAll(async () => {
  dir = openTempDir();
  postgres = await startPostgres({ dir: join(dir, 'postgres'), settings: { fsync: 'off' } });
  await migrate({ url: postgres.url(), log: createLogger('silent', 'test') });
});

beforeEach(async () => {
  receiver = await startReceiver(postgres.url());
  expect((await deliver(receiver.port, SECRET, stripeEvent().body)).status).toBe(200);
});

afterEach(async () => {
  await receiver.stop();
});

afterAll(async () => {
  await postgres.stop('immediate');
  rmSync(dir, { recursive: true, force: true });
  removeDir(dir);
});

function expectUnavailable(answer: Answer, withinMs: number): void {
  expect(answer.status).toBe(503);
  expect(answer.headers['retry-after']).toBe('5');
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'unavailable' });
  expect(answer.ms).toBeLessThan(withinMs);
}

async function isStored(id: string): Promise<boolean> {
  return withClient(async (client) => {
    const { rows } = await client.query('select from oncehook.webhook_inbox where event_id = $1', [id]);
    return rows.length === 1;
  });
}

async function withClient<Result>(body: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: postgres.url() });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

async function acceptedAgain(): Promise<void> {
  await until('an event is accepted again', async () => {
    const answer = await deliver(receiver.port, SECRET, stripeEvent().body);
    return answer.status === 200;
  });
}

test('PostgreSQL stopped: 503 within two seconds, and accepted when it is back', async () => {
  const { port } = postgres;
  await postgres.stop('immediate');
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => deliver(receiver.port, SECRET, stripeEvent().body)),
  );
  answers.forEach((answer) => {
    expectUnavailable(answer, 2_000);
  });
  const ready = await send(receiver.port, { method: 'GET', path: '/readyz' });
  expect(ready.status).toBe(503);
  expect(JSON.parse(ready.body)).toMatchObject({ status: 'not_ready', postgres: 'down' });
  expect((await send(receiver.port, { method: 'GET', path: '/healthz' })).status).toBe(200);

  postgres = await startPostgres({ dir: join(dir, 'postgres'), port, settings: { fsync: 'off' } });
  await acceptedAgain();
});

test('PostgreSQL paused: 503 within five seconds, and accepted when it goes on', async () => {
  const pids = [postgres.pid, ...childrenOf(postgres.pid)];
  pids.forEach((pid) => {
    signalProcess(pid, 'SIGSTOP');
  });
  try {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => deliver(receiver.port, SECRET, stripeEvent().body)),
    );
    answers.forEach((answer) => {
      expectUnavailable(answer, 5_100);
    });
  } finally {
    pids.forEach((pid) => {
      signalProcess(pid, 'SIGCONT');
    });
  }
  await acceptedAgain();
});

test('every session cut, again and again: 200 or 503, and what was 200 is stored', async () => {
  const accepted: string[] = [];
  const statuses = new Set<number>();
  await withClient(async (client) => {
    for (let round = 0; round < 20; round += 1) {
      const events = Array.from({ length: 10 }, () => stripeEvent());
      const answers = events.map(async ({ id, body }) => {
        const { status } = await deliver(receiver.port, SECRET, body);
        statuses.add(status);
        if (status === 200) accepted.push(id);
      });
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'oncehook receiver under test'`,
      );
      await Promise.all(answers);
    }
  });
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  await acceptedAgain();
  for (const id of accepted) expect(await isStored(id)).toBe(true);
});

// C10: https://github.com/payloadcms/payload/pull/10890
describe('a lock on the inbox', () => {
  test('that is released after three seconds delays the 200 until then', async () => {
    await withClient(async (client) => {
      await client.query('begin; lock table oncehook.webhook_inbox in access exclusive mode');
      const { id, body } = stripeEvent();
      let answered = false;
      const delivery = deliver(receiver.port, SECRET, body).finally(() => (answered = true));
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect(answered).toBe(false);
      await client.query('commit');
      expect((await delivery).body).toBe('{"status":"accepted"}');
      expect(await isStored(id)).toBe(true);
    });
  });

  test('that is not released: 503 within five seconds, nothing stored, and accepted after it', async () => {
    await withClient(async (client) => {
      await client.query('begin; lock table oncehook.webhook_inbox in access exclusive mode');
      const events = Array.from({ length: 20 }, () => stripeEvent());
      const answers = await Promise.all(events.map(({ body }) => deliver(receiver.port, SECRET, body)));
      answers.forEach((answer) => {
        expectUnavailable(answer, 5_100);
      });
      await client.query('commit');
      for (const { id } of events) expect(await isStored(id)).toBe(false);
    });
    await acceptedAgain();
  });
});

import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { deliverGithub, githubConfig } from '../support/github-sender.js';
import { startReceiver, type RunningReceiver } from '../support/running-receiver.js';

let database: TestDatabase;
let receivers: readonly RunningReceiver[];

beforeAll(async () => {
  database = await openDatabase();
  const others = [githubConfig(), githubConfig({ name: 'repeating', account: 'repeating', equalBodies: 'normal' })];
  receivers = await Promise.all([startReceiver(database.url, { others }), startReceiver(database.url, { others })]);
});

beforeEach(async () => {
  await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads, oncehook.webhook_redeliveries');
  for (const { dispatched } of receivers) dispatched.length = 0;
});

afterAll(async () => {
  for (const receiver of receivers) await receiver.stop();
  await database.drop();
});

const OPENED = '{"action":"opened","n":1}';
const CLOSED = '{"action":"closed","n":2}';

async function deliver(id: string, body: string, settings: { event?: string; path?: string; to?: number } = {}) {
  const { to = 0, ...rest } = settings;
  const { status, body: answer } = await deliverGithub(receivers[to]!.port, { id, body, ...rest });
  return `${status} ${(JSON.parse(answer) as { status: string }).status}`;
}

function aside(id: string, body: string): string {
  return `${id}~${createHash('sha256').update(body).digest('hex').slice(0, 32)}`;
}

/** Every row, by ID: what it is, and why. */
async function inbox(): Promise<Record<string, string>> {
  const rows = await database.rows<{ event_id: string; says: string }>(
    `select event_id, concat_ws(' ', event_type, status, reason) as says from oncehook.webhook_inbox`,
  );
  return Object.fromEntries(rows.map(({ event_id, says }) => [event_id, says]));
}

function dispatchedIds(): string[] {
  return receivers.flatMap(({ dispatched }) => dispatched.map(({ eventId }) => eventId));
}

describe('a delivery whose ID is not signed', () => {
  test('the same bytes under the same ID, also as another type, are a duplicate', async () => {
    expect(await deliver('d1', OPENED)).toBe('200 accepted');
    expect(await deliver('d1', OPENED)).toBe('200 duplicate');
    expect(await deliver('d1', OPENED, { event: 'push' })).toBe('200 duplicate');
    expect(await inbox()).toEqual({ d1: 'issues.opened pending' });
    expect(await database.rows('select event_id from oncehook.webhook_redeliveries')).toHaveLength(2);
  });

  test('the same bytes under another ID are kept aside as a suspected replay, once per ID', async () => {
    await deliver('d1', OPENED);
    expect(await deliver('d2', OPENED, { event: 'push' })).toBe('200 accepted');
    expect(await deliver('d2', OPENED)).toBe('200 duplicate');
    expect(await inbox()).toEqual({
      d1: 'issues.opened pending',
      [aside('d2', OPENED)]: 'push.opened quarantined suspected_replay',
    });
    expect(dispatchedIds()).toEqual(['d1']);
  });

  test('other bytes under a known ID are kept aside as a conflict, and not lost', async () => {
    await deliver('d1', OPENED);
    expect(await deliver('d1', CLOSED)).toBe('200 accepted');
    expect(await deliver('d1', CLOSED)).toBe('200 duplicate');
    expect(await inbox()).toEqual({
      d1: 'issues.opened pending',
      [aside('d1', CLOSED)]: 'issues.closed quarantined id_conflict',
    });
    const payloads = await database.rows<{ text: string }>(
      `select payload::text as text from oncehook.webhook_payloads where event_id like 'd1~%'`,
    );
    expect(payloads).toEqual([{ text: CLOSED }]);
  });

  test('an ID poisoned with known bytes does not keep its real delivery out', async () => {
    await deliver('d1', OPENED);
    expect(await deliver('d2', OPENED)).toBe('200 accepted');
    expect(await deliver('d2', CLOSED)).toBe('200 accepted');
    expect(await inbox()).toEqual({
      d1: 'issues.opened pending',
      [aside('d2', OPENED)]: 'issues.opened quarantined suspected_replay',
      d2: 'issues.closed pending',
    });
    expect(dispatchedIds()).toEqual(['d1', 'd2']);
  });

  test('an ID under which others are kept aside cannot be taken, so that nothing passes for a duplicate there', async () => {
    const { status } = await deliverGithub(receivers[0]!.port, { id: aside('d1', CLOSED), body: OPENED });
    expect(status).toBe(400);
    await deliver('d1', '{"action":"edited","n":3}');
    expect(await deliver('d1', CLOSED)).toBe('200 accepted');
    expect(await inbox()).toEqual({
      d1: 'issues.edited pending',
      [aside('d1', CLOSED)]: 'issues.closed quarantined id_conflict',
    });
  });

  test('an ID of 255 characters is kept aside whole', async () => {
    const id = 'd'.repeat(255);
    await deliver(id, OPENED);
    expect(await deliver(id, CLOSED)).toBe('200 accepted');
    expect(Object.keys(await inbox()).sort()).toEqual([id, aside(id, CLOSED)].sort());
  });

  test('of a hundred copies at once, to two receivers, one is live and ten are kept', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => deliver(`copy-${index}`, OPENED, { to: index % 2 })),
    );
    expect(answers.filter((answer) => answer === '200 accepted')).toHaveLength(11);
    expect(answers.filter((answer) => answer === '200 duplicate')).toHaveLength(89);
    const rows = Object.values(await inbox());
    expect(rows.filter((row) => row === 'issues.opened pending')).toHaveLength(1);
    expect(rows.filter((row) => row === 'issues.opened quarantined suspected_replay')).toHaveLength(10);
    expect(dispatchedIds()).toHaveLength(1);
  });

  test('two bodies under one ID at once, to two receivers: one is live, the other is kept', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => deliver('d1', index % 4 < 2 ? OPENED : CLOSED, { to: index % 2 })),
    );
    expect(answers.filter((answer) => answer === '200 accepted')).toHaveLength(2);
    const rows = await inbox();
    expect(Object.keys(rows)).toHaveLength(2);
    expect(rows.d1).toMatch(/pending$/);
    expect(Object.values(rows).filter((row) => row.endsWith('quarantined id_conflict'))).toHaveLength(1);
  });

  test('where equal bodies are normal, only the ID counts', async () => {
    const path = '/webhooks/repeating';
    expect(await deliver('d1', OPENED, { path })).toBe('200 accepted');
    expect(await deliver('d2', OPENED, { path })).toBe('200 accepted');
    expect(await deliver('d2', CLOSED, { path })).toBe('200 accepted');
    expect(await deliver('d2', CLOSED, { path })).toBe('200 duplicate');
    expect(await inbox()).toEqual({
      d1: 'issues.opened pending',
      d2: 'issues.opened pending',
      [aside('d2', CLOSED)]: 'issues.closed quarantined id_conflict',
    });
  });

  test('one source cannot touch the bytes or IDs of another', async () => {
    await deliver('d1', OPENED);
    expect(await deliver('d1', OPENED, { path: '/webhooks/repeating' })).toBe('200 accepted');
    expect(dispatchedIds()).toEqual(['d1', 'd1']);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { deliver, send } from '../support/http-client.js';
import { SECRET, startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import { bytesOf, hostileBodies, type HostileBody } from '../support/vectors.js';

let database: TestDatabase;
let receiver: RunningReceiver;

beforeAll(async () => {
  database = await openDatabase();
  receiver = await startReceiver(database.url);
});

// Most of these bodies have one event ID.
beforeEach(async () => {
  await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads, oncehook.webhook_redeliveries');
});

afterAll(async () => {
  await receiver.stop();
  await database.drop();
});

describe('hostile bodies under a valid signature', () => {
  test.each(hostileBodies().map((body) => [body.name, body] as const))('%s', async (_name, hostile) => {
    const body = bytesOf(hostile);
    const answer = await deliver(receiver.port, SECRET, body);
    expect(answer.ms).toBeLessThan(2_000);
    expect(allowedStatuses(hostile)).toContain(answer.status);
    if (answer.status === 400) expect(JSON.parse(answer.body)).toMatchObject({ status: 400, code: codeOf(hostile) });
    expect(await storedTexts()).toEqual(answer.status === 200 ? [body.toString()] : []);
  });

  test('without a valid signature every one of them is 401, and nothing of it is stored', async () => {
    for (const hostile of hostileBodies()) {
      const body = bytesOf(hostile);
      const answer = await send(receiver.port, { body, headers: { 'Stripe-Signature': 't=1,v1=00' } });
      expect(answer.status).toBe(body.length > 1024 * 1024 ? 413 : 401);
    }
    expect(await storedTexts()).toEqual([]);
  });

  test('after all of them the receiver is up and holds nothing', async () => {
    expect((await send(receiver.port, { method: 'GET', path: '/readyz' })).status).toBe(200);
    expect((await receiver.metrics.bodyBytesInMemory.get()).values).toMatchObject([{ value: 0 }]);
  });
});

function allowedStatuses({ expectStatus }: HostileBody): readonly number[] {
  return typeof expectStatus === 'number' ? [expectStatus] : expectStatus.split('_or_').map(Number);
}

/** Where the vectors leave the status open, the code that goes with 400 is ours. */
function codeOf({ expectCode }: HostileBody): string {
  return expectCode === 'accepted' ? 'invalid_event' : expectCode;
}

/** What is stored, to the character, of events whose row says that these are the bytes that were signed. */
async function storedTexts(): Promise<string[]> {
  const rows = await database.rows<{ payload: string }>(
    `select p.payload::text as payload
       from oncehook.webhook_inbox i
       join oncehook.webhook_payloads p using (source_scope, event_id)
      where sha256(convert_to(p.payload::text, 'UTF8')) = i.signed_sha256`,
  );
  return rows.map(({ payload }) => payload);
}

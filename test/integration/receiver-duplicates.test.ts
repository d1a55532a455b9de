import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { deliver } from '../support/http-client.js';
import { SECRET, startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import { stripeEvent } from '../support/stripe-event.js';
import { until } from '../support/until.js';

let database: TestDatabase;
let receivers: readonly [RunningReceiver, RunningReceiver];

beforeEach(async () => {
  database = await openDatabase();
  receivers = [await startReceiver(database.url), await startReceiver(database.url)];
});

afterEach(async () => {
  await Promise.all(receivers.map((receiver) => receiver.stop()));
  await database.drop();
});

test('twenty identical deliveries at once to two receivers are one event', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { id, body } = stripeEvent();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => deliver(receivers[index % 2 === 0 ? 0 : 1].port, SECRET, body)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    const accepted = answers.filter((answer) => answer.body === '{"status":"accepted"}');
    expect(accepted).toHaveLength(1);
    expect(
      await database.rows(
        `select (select count(*)::integer from oncehook.webhook_inbox where event_id = $1) as rows,
                (select count(*)::integer from oncehook.webhook_payloads where event_id = $1) as payloads,
                (select count(*)::integer from oncehook.webhook_redeliveries where event_id = $1) as redeliveries`,
        [id],
      ),
    ).toEqual([{ rows: 1, payloads: 1, redeliveries: 19 }]);
  }
  const dispatched = (): number => receivers.reduce((sum, { dispatched: own }) => sum + own.length, 0);
  await until('each event was dispatched', () => dispatched() >= 10);
  expect(dispatched()).toBe(10);
});

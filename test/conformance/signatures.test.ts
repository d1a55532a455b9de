import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { codeIn, rawPost, sendRaw } from '../support/http-client.js';
import { secretsOf, startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { bytesOf, stripeSignatureCases, type SignatureCase } from '../support/vectors.js';

let database: TestDatabase;
let receiver: RunningReceiver;

/** The case that is being sent: its secret is in force, and the receiver's clock stands at its time. */
let current: SignatureCase;

beforeAll(async () => {
  database = await openDatabase();
  receiver = await startReceiver(database.url, {
    now: () => current.now * 1000,
    source: { secrets: { current: () => secretsOf(current.secret).current() } },
  });
});

beforeEach(async () => {
  await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads');
});

afterAll(async () => {
  await receiver.stop();
  await database.drop();
});

describe('signature cases with the default tolerance', () => {
  const cases = stripeSignatureCases().filter(({ toleranceSeconds }) => toleranceSeconds === 300);

  test.each(cases.map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
    current = vector;
    const lines = (vector.headerLines ?? []).map((line) => ['Stripe-Signature', line] as const);
    const bytes = rawPost('/webhooks/stripe', lines, bytesOf(vector));
    const answer = await sendRaw(receiver.port, [{ bytes }]);
    expect(answer.statuses).toHaveLength(1);
    expect(`${answer.statuses[0]} ${codeIn(answer.text)}`).toBe(expectedAnswer(vector));
    expect(await database.rows('select from oncehook.webhook_inbox')).toEqual([]);
  });
});

/** Every body of these cases lacks a type, so a right signature shows in that the event is refused, and not the signature. */
function expectedAnswer(vector: SignatureCase): string {
  if (vector.reason === 'empty_body') return '400 empty_body';
  switch (vector.expect) {
    case 'invalid':
    case 'policy':
      return '401 invalid_signature';
    case 'signature_valid_json_invalid':
      return '400 invalid_json';
    case 'valid':
    case 'signature_valid_event_invalid':
      return '400 invalid_event';
  }
}

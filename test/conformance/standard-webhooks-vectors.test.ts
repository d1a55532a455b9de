import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { verifyStandardWebhooks } from '../../src/sources/standard-webhooks-signature.js';
import { configure } from '../support/configured.js';
import { problemsOf } from '../support/config-input.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { CASE_SECRET, startVectorReceiver, type VectorReceiver } from '../support/vector-receiver.js';
import { bytesOf, standardWebhooksCases, type HeaderCase } from '../support/vectors.js';

const SOURCES = { standard: { kind: 'standard-webhooks', secrets: ['${CASE_SECRET}'] } };

/** Published keys of 23 and 5 bytes, where the specification asks for 24: their libraries take them, a start does not. */
const REFUSED_SECRETS = ['secret-shorter-than-24-bytes', 'unpadded-secret-needs-one'];

let database: TestDatabase;
let vectors: VectorReceiver;

beforeAll(async () => {
  database = await openDatabase();
  vectors = await startVectorReceiver(database.url, SOURCES);
});

beforeEach(async () => {
  await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads');
});

afterAll(async () => {
  await vectors.receiver.stop();
  await database.drop();
});

function deliver(vector: HeaderCase): Promise<string> {
  const { secret, now = 0, headers } = vector;
  return vectors.deliver({ source: 'standard', secret, now, headers: Object.entries(headers), body: bytesOf(vector) });
}

function verifyAlone(vector: HeaderCase, secrets = [vector.secret]) {
  const headers = Object.fromEntries(Object.entries(vector.headers).map(([name, value]) => [name, [value]]));
  const { now: nowSeconds = 0, toleranceSeconds = 0 } = vector;
  const toleranceMs = toleranceSeconds * 1000;
  return verifyStandardWebhooks({ headers, body: bytesOf(vector), secrets, toleranceMs, nowSeconds });
}

/** No body of these cases has a type, so a right signature shows in that the event is refused, and not the signature. */
function expectedAnswer(vector: HeaderCase): string {
  if (vector.body === '') return '400 empty_body';
  switch (vector.expect) {
    case 'valid':
    case 'valid_if_supported':
      return '400 invalid_event';
    case 'signature_valid_json_invalid':
      return '400 invalid_json';
    case 'http_400':
      return '400'; // node's own
    case 'invalid':
    case 'config_error':
    case 'valid_signature_but_replay':
      return '401 invalid_signature';
  }
}

describe.each(Object.entries(standardWebhooksCases()))('%s cases', (_family, cases) => {
  const usable = cases.filter(({ name }) => !REFUSED_SECRETS.includes(name));

  test.each(usable.map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
    expect(await deliver(vector)).toBe(expectedAnswer(vector));
    expect(await database.rows('select from oncehook.webhook_inbox')).toEqual([]);
  });
});

describe('secrets that no receiver starts with', () => {
  const all = Object.values(standardWebhooksCases()).flat();
  const refused = all.filter(({ name }) => REFUSED_SECRETS.includes(name));

  test('are these cases and no others', () => {
    const bad = all.filter(({ secret }) => problemsOf(() => configure(SOURCES, { [CASE_SECRET]: secret })).length > 0);
    expect(bad.map(({ name }) => name)).toEqual(refused.map(({ name }) => name));
  });

  test.each(refused.map((vector) => [vector.name, vector] as const))('%s: named, not shown', async (_name, vector) => {
    await expect(deliver(vector)).rejects.toMatchObject({
      problems: [expect.stringMatching(/sources\.standard\.secrets\[0\]: CASE_SECRET has fewer than 24 to 64 bytes$/)],
    });
    await expect(deliver(vector)).rejects.not.toThrow(vector.secret.replace('whsec_', ''));
  });

  test.each(refused.map((vector) => [vector.name, vector] as const))('%s: its MAC is right', (_name, vector) => {
    expect(verifyAlone(vector)).toEqual({ ok: true, secretPosition: 0 });
  });
});

test('an ID with a line break, which HTTP does not carry, is refused by the verifier too', () => {
  const vector = standardWebhooksCases().webhook.find(({ expect: expected }) => expected === 'http_400');
  expect(verifyAlone(vector!)).toEqual({ ok: false, cause: 'malformed_header' });
});

describe('a private and a public key side by side', () => {
  const { webhook, ed25519 } = standardWebhooksCases();
  const secrets = [webhook[0]!.secret, ed25519[0]!.secret];

  test('each verifies its own kind of signature, and the position says which', () => {
    expect(verifyAlone(webhook[0]!, secrets)).toEqual({ ok: true, secretPosition: 0 });
    expect(verifyAlone(ed25519[0]!, secrets)).toEqual({ ok: true, secretPosition: 1 });
  });

  test.each(ed25519.filter((vector) => vector.expect === 'invalid').map((vector) => [vector.name, vector] as const))(
    'neither takes %s',
    (_name, vector) => {
      expect(verifyAlone(vector, secrets).ok).toBe(false);
    },
  );
});

import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SourceConfig } from '../../src/config/config.js';
import { verifyHmac, type HmacVerifierSettings } from '../../src/sources/hmac-signature.js';
import type { Verification } from '../../src/sources/source.js';
import { configure, exampleSources, sourceOf, type SourceDocuments } from '../support/configured.js';
import { problemsOf } from '../support/config-input.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { CASE_SECRET, startVectorReceiver, type VectorReceiver } from '../support/vector-receiver.js';
import { bytesOf, otherCases, type HeaderCase } from '../support/vectors.js';

const { slack, shopify, rfc4231 } = otherCases();

/** Nothing but the HMAC, keyed with any bytes. */
const PLAIN = {
  kind: 'hmac',
  secretEncoding: 'hex',
  signature: { header: 'X-Signature' },
  eventId: { body: '/id' },
  eventType: { body: '/type' },
};

const SOURCES: SourceDocuments = Object.fromEntries(
  Object.entries({ ...exampleSources('slack', 'shopify'), plain: PLAIN }).map(([name, source]) => [
    name,
    { ...source, secrets: ['${CASE_SECRET}'] },
  ]),
);

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

/** The verifier alone, described as the configuration describes it, under a secret that the configuration need not take. */
function verifyAlone(
  name: string,
  secret: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Verification {
  const source = sourceOf(configure(SOURCES, { [CASE_SECRET]: 'ab'.repeat(32) }), name);
  return verifyHmac(verifierOf(source), {
    headers: Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), [value]])),
    body,
    secrets: [secret],
    toleranceMs: 300_000,
    nowSeconds: 0,
  });
}

function verifierOf(source: SourceConfig): HmacVerifierSettings {
  if (source.kind !== 'hmac') throw new Error(`${source.name} is of another kind`);
  return { ...source, signedIdHeader: null };
}

describe('Slack', () => {
  test.each(slack.map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
    const { secret, now = 0, headers } = vector;
    const answer = await vectors.deliver({
      source: 'slack',
      secret,
      now,
      headers: Object.entries(headers),
      body: bytesOf(vector),
    });
    // The documented body is a slash command's form: rightly signed, and no JSON.
    expect(answer).toBe(vector.expect === 'valid' ? '400 invalid_json' : '401 invalid_signature');
  });
});

describe('Shopify', () => {
  test.each(shopify.map((vector) => [vector.name, vector] as const))(
    '%s: its secret is too short to start with, and its MAC is judged right',
    (_name, vector) => {
      const { secret, headers } = vector;
      expect(problemsOf(() => configure(SOURCES, { [CASE_SECRET]: secret }))).toContainEqual(
        expect.stringMatching(/sources\.shopify\.secrets\[0\]: CASE_SECRET has fewer than 8 bytes$/),
      );
      expect(verifyAlone('shopify', secret, headers, bytesOf(vector)).ok).toBe(vector.expect !== 'invalid');
    },
  );

  // The same cases under a secret of the length that a real one has.
  const SECRET = 'hush'.repeat(8);
  const resigned = (vector: HeaderCase): string => {
    const digest = createHmac('sha256', SECRET).update(bytesOf(vector)).digest();
    if (vector.name.startsWith('hex')) return digest.toString('hex');
    return digest.toString(vector.name === 'base64url' ? 'base64url' : 'base64');
  };
  const deliver = (vector: HeaderCase, more: Readonly<Record<string, string>> = {}): Promise<string> =>
    vectors.deliver({
      source: 'shopify',
      secret: SECRET,
      headers: Object.entries({ ...vector.headers, 'X-Shopify-Hmac-Sha256': resigned(vector), ...more }),
      body: bytesOf(vector),
    });

  test('as base64 the signature passes, in another alphabet or as hex it does not', async () => {
    const GENUINE = { 'X-Shopify-Webhook-Id': 'wh_1', 'X-Shopify-Topic': 'orders/create' };
    const answers: Record<string, string> = {};
    for (const vector of shopify.filter(({ expect: expected }) => expected !== 'valid_signature_but_replay')) {
      answers[vector.name] = await deliver(vector, GENUINE);
    }
    expect(answers).toEqual({
      'composed-vector': '200 accepted',
      'hex-instead-of-base64': '401 invalid_signature',
      base64url: '401 invalid_signature',
    });
  });

  test('the same body under an ID and a topic that nobody signed is kept as a suspected replay', async () => {
    const [genuine] = shopify;
    const replay = shopify.find((vector) => vector.expect === 'valid_signature_but_replay');
    await deliver(genuine!, { 'X-Shopify-Webhook-Id': 'wh_1', 'X-Shopify-Topic': 'orders/create' });
    expect(await deliver(replay!)).toBe('200 accepted');
    const rows = await database.rows(
      `select event_type as type, status, reason, payload::text as text
         from oncehook.webhook_inbox join oncehook.webhook_payloads using (source_scope, event_id) order by 1`,
    );
    const text = genuine!.body;
    expect(rows).toEqual([
      { type: 'orders/create', status: 'pending', reason: null, text },
      { type: 'orders/delete', status: 'quarantined', reason: 'suspected_replay', text },
    ]);
  });
});

describe('known answers of RFC 4231', () => {
  const SHORT_KEY = 'rfc4231-tc2';

  test.each(rfc4231.filter(({ name }) => name !== SHORT_KEY).map((answer) => [answer.name, answer] as const))(
    '%s',
    async (_name, { keyHex, messageHex, hmacSha256Hex }) => {
      const body = Buffer.from(messageHex, 'hex');
      const deliver = (digest: string): Promise<string> =>
        vectors.deliver({ source: 'plain', secret: keyHex, headers: [['X-Signature', digest]], body });
      expect(await deliver(hmacSha256Hex)).toBe('400 invalid_json');
      expect(await deliver(hmacSha256Hex.replace(/^./, (digit) => (digit === '0' ? '1' : '0')))).toBe(
        '401 invalid_signature',
      );
    },
  );

  test(`${SHORT_KEY}: a key of 4 bytes is refused at start, and its MAC is right`, () => {
    const { keyHex, messageHex, hmacSha256Hex } = rfc4231.find(({ name }) => name === SHORT_KEY)!;
    expect(problemsOf(() => configure({ plain: SOURCES.plain! }, { [CASE_SECRET]: keyHex }))).toEqual([
      expect.stringMatching(/sources\.plain\.secrets\[0\]: CASE_SECRET has fewer than 8 bytes$/),
    ]);
    const message = Buffer.from(messageHex, 'hex');
    expect(verifyAlone('plain', keyHex, { 'X-Signature': hmacSha256Hex }, message).ok).toBe(true);
  });
});

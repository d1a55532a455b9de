import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { receiverConfig } from '../../src/service/receiver-config.js';
import { configure } from '../support/configured.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { rawPost, sendRaw } from '../support/http-client.js';
import { inLanes } from '../support/in-lanes.js';
import { startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import {
  SENDER_ENV,
  SENDER_NAMES,
  SENDER_SOURCES,
  senderEvent,
  signAs,
  type SenderName,
  type SignedDelivery,
} from '../support/senders.js';
import { cut, spoiledBytes, spoilings, withCuts } from '../support/spoiled-request.js';

/** What is read from a signed body in other ways than a text at a pointer. */
const READING_OTHERWISE = {
  numbered: { ...SENDER_SOURCES.slack, eventId: { body: '/id', type: 'integer' }, eventType: { body: '/type' } },
  derived: { ...SENDER_SOURCES.slack, eventId: { derived: ['/id', '/data/id'] }, eventType: { body: '/type' } },
};

let database: TestDatabase;
let receiver: RunningReceiver;

beforeAll(async () => {
  database = await openDatabase();
  const config = receiverConfig(configure({ ...SENDER_SOURCES, ...READING_OTHERWISE }, SENDER_ENV));
  receiver = await startReceiver(database.url, { config });
});

afterAll(async () => {
  await receiver.stop();
  await database.drop();
});

/** Fixed, so that a failure is one that everybody sees. */
const SEED = 20_261_130;
const PARAMETERS = { seed: SEED, numRuns: 800 };

const anySender = fc.constantFrom(...SENDER_NAMES);
const cuts = fc.array(cut, { minLength: 1, maxLength: 4 });
let made = 0;

/** A genuine event of this sender's that no other is like, with its ID. */
function freshEvent(sender: SenderName): ReturnType<typeof senderEvent> & { readonly id: string } {
  made += 1;
  const id = `id_${made}`;
  return { ...senderEvent(sender, id, 'test.created'), id };
}

async function post({ path, headers, body }: SignedDelivery): Promise<{ status: number; isAccepted: boolean }> {
  const lines = Object.entries({ ...headers, Connection: 'close' });
  const { statuses, text } = await sendRaw(receiver.port, [{ bytes: rawPost(path, lines, body) }]);
  // Node itself refuses a header that is broken HTTP, or finds a second request in the rest: then it is the last that counts.
  return { status: statuses.at(-1) ?? 0, isAccepted: text.includes('"accepted"') };
}

async function storedFor(sender: string, body: Buffer): Promise<number> {
  const rows = await database.rows('select from oncehook.webhook_inbox where source = $1 and signed_sha256 = $2', [
    sender,
    createHash('sha256').update(body).digest(),
  ]);
  return rows.length;
}

test('a body changed after it was signed is never stored, and never a server error', async () => {
  await fc.assert(
    fc.asyncProperty(anySender, cuts, async (sender, changes) => {
      const delivery = signAs(sender, freshEvent(sender));
      const changed = Buffer.from(withCuts(delivery.body.toString('latin1'), changes), 'latin1');
      fc.pre(!changed.equals(delivery.body));
      expect([400, 401]).toContain((await post({ ...delivery, body: changed })).status);
      expect(await storedFor(sender, changed)).toBe(0);
    }),
    PARAMETERS,
  );
}, 120_000);

/** The headers that say who sent this, and what separates several values in them. */
const SIGNING_HEADERS: Readonly<Record<SenderName, Readonly<Record<string, string>>>> = {
  stripe: { 'Stripe-Signature': ',' },
  github: { 'X-Hub-Signature-256': '' },
  svix: { 'svix-id': '', 'svix-timestamp': '', 'svix-signature': ' ' },
  ed25519: { 'webhook-id': '', 'webhook-timestamp': '', 'webhook-signature': ' ' },
  shopify: { 'X-Shopify-Hmac-SHA256': '' },
  slack: { 'X-Slack-Request-Timestamp': '', 'X-Slack-Signature': '' },
  paddle: { 'Paddle-Signature': ';' },
  clinic: { 'X-Event-Id': '', 'X-Timestamp': '', 'X-Signature': '' },
};

test('a changed header passes only if what was signed still stands in it', async () => {
  await fc.assert(
    fc.asyncProperty(anySender, fc.nat(), cuts, async (sender, which, changes) => {
      const delivery = signAs(sender, freshEvent(sender));
      const entries = Object.entries(SIGNING_HEADERS[sender]);
      const [name, separator] = entries[which % entries.length]!;
      const genuine = delivery.headers[name]!;
      const changed = withCuts(genuine, changes).replaceAll(/[\r\n]/g, '');
      const { status } = await post({ ...delivery, headers: { ...delivery.headers, [name]: changed } });
      expect(status).toBeGreaterThanOrEqual(200);
      expect(status).toBeLessThan(500);
      if ((await storedFor(sender, delivery.body)) === 0) return;
      const partsOf = (value: string): string[] => (separator === '' ? [value] : value.split(separator));
      expect(partsOf(changed.trim())).toEqual(expect.arrayContaining(partsOf(genuine)));
    }),
    PARAMETERS,
  );
}, 120_000);

test('a signed body of any shape is answered 200 or 400, and 200 means stored', async () => {
  const bodies = fc.oneof(
    fc.json(),
    fc.record({ id: fc.jsonValue(), type: fc.constant('t'), data: fc.record({ id: fc.jsonValue() }) }).map((value) => JSON.stringify(value)), // prettier-ignore
    fc.bigInt().map((id) => `{"id":${id},"type":"t","data":{"id":-0.5e1},"__proto__":{"id":"x"}}`),
    fc
      .tuple(anySender, cuts)
      .map(([sender, changes]) => withCuts(String(senderEvent(sender, 'id', 't').body), changes)),
    fc.string({ unit: 'binary', minLength: 1 }),
    // Keys twice below the top, where JSON.parse takes the last.
    fc.tuple(fc.json(), fc.json()).map(([a, b]) => `{"id":"x","type":"t","data":{"id":${a},"id":${b}}}`),
  );
  const anySource = fc.constantFrom<string[]>(...SENDER_NAMES, ...Object.keys(READING_OTHERWISE));
  const header = fc.oneof(fc.constant('id_1'), fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 300 }));
  await fc.assert(
    fc.asyncProperty(anySource, bodies, header, header, async (source, text, id, type) => {
      fc.pre(text.length > 0);
      const body = Buffer.from(text);
      // An ID that is signed and no ID at all is a failure of the signature.
      const sender = SENDER_NAMES.find((name) => name === source) ?? 'slack';
      const signed = signAs(sender, { body, id: /^[\x21-\x2d\x2f-\x7e]{1,255}$/.test(id) ? id : 'id_2', type });
      const headers = sender === 'github' ? { ...signed.headers, 'X-GitHub-Delivery': id } : signed.headers;
      const { status, isAccepted } = await post({ ...signed, path: `/webhooks/${source}`, headers });
      expect([200, 400]).toContain(status);
      if (isAccepted) expect(await storedFor(source, body)).toBeGreaterThan(0);
    }),
    PARAMETERS,
  );
}, 120_000);

const FUZZ_RUNS = 4_000;
/** From the first byte of headers to the last of a body a client has 3 s and 8 s; the rest is the machine's. */
const FUZZ_PATIENCE_MS = 14_000;

test(`${FUZZ_RUNS} requests spoiled in any way: never a server error, never a hang, never a row that nobody signed`, async () => {
  process.stderr.write(`tests: spoiled deliveries from seed ${SEED}\n`);
  await database.rows('truncate oncehook.webhook_inbox, oncehook.webhook_payloads, oncehook.webhook_redeliveries');
  const genuine = new Map<string, { readonly sender: SenderName; readonly id: string }>();
  const requests = fc
    .sample(fc.tuple(anySender, spoilings), { seed: SEED, numRuns: FUZZ_RUNS })
    .map(([sender, spoil]) => {
      const event = freshEvent(sender);
      const delivery = signAs(sender, event);
      genuine.set(createHash('sha256').update(delivery.body).digest('hex'), { sender, id: event.id });
      return spoiledBytes(delivery, spoil);
    });
  const seen = new Map<number, number>();
  await inLanes(64, requests, async (bytes) => {
    const { statuses, ending, ms } = await sendRaw(receiver.port, [{ bytes }], { patienceMs: FUZZ_PATIENCE_MS });
    const what = bytes.toString('latin1');
    for (const status of statuses) seen.set(status, (seen.get(status) ?? 0) + 1);
    expect(
      statuses.filter((status) => status >= 500),
      what,
    ).toEqual([]);
    expect(ms, what).toBeLessThan(FUZZ_PATIENCE_MS);
    if (statuses.length === 0) expect(['closed', 'reset'], what).toContain(ending);
  });
  const rows = await database.rows<{ source: string; id: string; sha256: string; fits: boolean }>(
    `select source, event_id as id, encode(signed_sha256, 'hex') as sha256,
            sha256(convert_to(payload::text, 'UTF8')) = signed_sha256 as fits
       from oncehook.webhook_inbox join oncehook.webhook_payloads using (source_scope, event_id)`,
  );
  process.stderr.write(`tests: ${rows.length} rows; answers ${JSON.stringify(Object.fromEntries(seen))}\n`);
  for (const row of rows) {
    expect(row.fits, row.sha256).toBe(true);
    expect(genuine.get(row.sha256)?.sender, row.sha256).toBe(row.source);
    // Where nobody signs the ID it may be another; where somebody does it is what was signed.
    if (row.source !== 'github' && row.source !== 'shopify') expect(row.id).toBe(genuine.get(row.sha256)?.id);
  }
  expect(rows.length).toBeGreaterThan(FUZZ_RUNS / 10);
  expect((await receiver.metrics.bodyBytesInMemory.get()).values).toMatchObject([{ value: 0 }]);
}, 180_000);

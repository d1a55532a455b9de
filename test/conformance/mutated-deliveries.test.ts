import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { sendRaw } from '../support/http-client.js';
import { SECRET, startReceiver, type RunningReceiver } from '../support/running-receiver.js';
import { stripeEvent } from '../support/stripe-event.js';
import { stripeDigest, unixNow } from '../support/stripe-signing.js';

let database: TestDatabase;
let receiver: RunningReceiver;

beforeAll(async () => {
  database = await openDatabase();
  receiver = await startReceiver(database.url);
});

afterAll(async () => {
  await receiver.stop();
  await database.drop();
});

/** Fixed, so that a failure is one that everybody sees. */
const PARAMETERS = { seed: 20_261_130, numRuns: 400 };

const cut = fc.record({
  at: fc.nat(),
  remove: fc.nat({ max: 3 }),
  insert: fc.string({ maxLength: 3, unit: 'binary-ascii' }),
});
const cuts = fc.array(cut, { minLength: 1, maxLength: 4 });

/** Takes pieces out of a text and puts others in. */
function mutated(text: string, changes: readonly { at: number; remove: number; insert: string }[]): string {
  return changes.reduce((current, { at, remove, insert }) => {
    const from = at % (current.length + 1);
    return current.slice(0, from) + insert + current.slice(from + remove);
  }, text);
}

async function post(signature: string, body: string): Promise<number> {
  const head = `POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nConnection: close\r\nStripe-Signature: ${signature}\r\n\r\n`;
  const { statuses } = await sendRaw(receiver.port, [{ bytes: Buffer.from(head + body, 'latin1') }]);
  // Node itself refuses a header that is broken HTTP, or finds a second request in the rest: then it is the last that counts.
  return statuses.at(-1) ?? 0;
}

async function isStored(id: string): Promise<boolean> {
  return (await database.rows('select from oncehook.webhook_inbox where event_id = $1', [id])).length > 0;
}

test('a body changed after it was signed is never stored, and never a server error', async () => {
  await fc.assert(
    fc.asyncProperty(cuts, async (changes) => {
      const { id, body } = stripeEvent();
      const now = unixNow();
      const changed = mutated(body, changes);
      fc.pre(changed !== body);
      const status = await post(`t=${now},v1=${stripeDigest(body, SECRET, now)}`, changed);
      expect([400, 401]).toContain(status);
      expect(await isStored(id)).toBe(false);
    }),
    PARAMETERS,
  );
}, 120_000);

test('a changed header passes only if the right digest and time still stand in it', async () => {
  await fc.assert(
    fc.asyncProperty(cuts, async (changes) => {
      const { id, body } = stripeEvent();
      const now = unixNow();
      const digest = stripeDigest(body, SECRET, now);
      const header = mutated(`t=${now},v1=${digest}`, changes).replaceAll(/[\r\n]/g, '');
      const status = await post(header, body);
      expect(status).toBeGreaterThanOrEqual(200);
      expect(status).toBeLessThan(500);
      if (await isStored(id)) {
        const elements = header.trim().split(',');
        expect(elements).toContain(`t=${now}`);
        expect(elements).toContain(`v1=${digest}`);
      }
    }),
    PARAMETERS,
  );
}, 120_000);

test('a signed body of any shape is answered 200 or 400, and 200 means stored', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.json(),
        cuts.map((changes) => mutated(stripeEvent().body, changes)),
      ),
      async (body) => {
        fc.pre(body.length > 0);
        const now = unixNow();
        const bytes = Buffer.from(body, 'latin1');
        const status = await post(`t=${now},v1=${stripeDigest(bytes, SECRET, now)}`, bytes.toString('latin1'));
        expect([200, 400]).toContain(status);
        if (status === 200) expect(await isStored((JSON.parse(body) as { id: string }).id)).toBe(true);
      },
    ),
    PARAMETERS,
  );
}, 120_000);

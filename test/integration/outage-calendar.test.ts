import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi, type TestContext } from 'vitest';
import { parse } from 'yaml';
import { startCalendar, type CalendarEntry, type CalendarStandIn } from '../support/calendar-stand-in.js';
import { ROOT } from '../support/dist.js';
import { appointmentPayload, paymentPayload, type SetPayload } from '../support/handler-events.js';
import { send as post } from '../support/http-client.js';
import { token } from '../support/payment-event.js';
import { stackFor, type Stack } from '../support/stack.js';
import { unixNow } from '../support/stripe-signing.js';
import { until } from '../support/until.js';

vi.setConfig({ testTimeout: 120_000 });

const PATIENCE_MS = 60_000;

/* Our processes, configured as docs/handler-sets.md shows, with a calendar beside them that is not ours. */

const [, CONFIG = ''] = /```yaml\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs/handler-sets.md'), 'utf8')) ?? [];

const CLINIC_SECRET = 'the secret of the clinic, a long one';
const SHOP_SECRET = Buffer.alloc(32, 7).toString('base64');
const TOKEN = 'a-token-of-the-calendar';
const TITLE = 'a title that only the calendar may see';

interface Clinic {
  readonly stack: Stack;
  readonly calendar: CalendarStandIn;
  readonly startWorker: Stack['start'];
  /** Signed and delivered to the source of that name; the answer's status. */
  readonly send: (payload: SetPayload, source?: 'clinic' | 'shop') => Promise<number>;
  readonly operations: () => Promise<readonly OperationRow[]>;
}

interface OperationRow {
  readonly operation_key: string;
  readonly idempotency_key: string;
  readonly status: string;
  readonly attempts: number;
  readonly lost_answers: number;
  readonly last_error: string | null;
}

async function openClinic(test: TestContext): Promise<Clinic> {
  const calendar = await startCalendar(`/hook?token=${TOKEN}`);
  test.onTestFinished(() => calendar.close());
  const stack = await stackFor(test, { config: parse(CONFIG) as Record<string, unknown> });
  const secrets = { CLINIC_SECRET, SHOP_SECRET };
  // The calendar's URL is read by workers alone: a receiver starts without it.
  const receiver = await stack.start('receiver', { env: secrets });
  return {
    stack,
    calendar,
    startWorker: (role, options = {}) =>
      stack.start(role, { ...options, env: { ...secrets, CALENDAR_URL: calendar.url } }),
    send: async (payload, source = 'clinic') => {
      const body = JSON.stringify(payload);
      const headers = SIGN[source](payload.id, body);
      return (await post(receiver.port, { path: `/webhooks/${source}`, headers, body })).status;
    },
    operations: () =>
      stack.database.rows<OperationRow>(
        `select operation_key, idempotency_key, status, attempts, lost_answers, last_error
           from oncehook.operations
          order by operation_key collate "C"`,
      ),
  };
}

const SIGN = {
  clinic: (_id: string, body: string) => ({
    'X-Signature': createHmac('sha256', CLINIC_SECRET).update(body).digest('hex'),
  }),
  shop: (id: string, body: string) => {
    const time = unixNow();
    const mac = createHmac('sha256', Buffer.from(SHOP_SECRET, 'base64')).update(`${id}.${time}.${body}`);
    return { 'webhook-id': id, 'webhook-timestamp': String(time), 'webhook-signature': `v1,${mac.digest('base64')}` };
  },
};

/** Each key was done at most once, and what the calendar shows is what is stored here. */
async function expectAgreement({ stack, calendar }: Clinic): Promise<void> {
  const keys = calendar.executed.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
  const stored = await stack.database.rows<CalendarEntry & { starts_at: unknown }>(
    `select tenant_id as tenant, appointment_id, version::int, status, starts_at, ends_at, title
       from oncehook.calendar_entries
      order by appointment_id collate "C"`,
  );
  const shown = [...calendar.entries.values()]
    .toSorted((a, b) => (a.appointment_id < b.appointment_id ? -1 : 1))
    .map((entry) => ({ ...entry, starts_at: new Date(entry.starts_at), ends_at: new Date(entry.ends_at) }));
  expect(shown).toEqual(stored);
}

const allDone = async ({ stack }: Clinic): Promise<boolean> =>
  (await stack.database.rows(`select from oncehook.webhook_inbox where status <> 'done'`)).length === 0;

/** A history's JSON with its payloads, which are there in base64, as text beside them. */
function readable(history: string): string {
  const payloads = [...history.matchAll(/"([A-Za-z0-9+/]{8,}={0,2})"/g)];
  return history + payloads.map(([, text = '']) => Buffer.from(text, 'base64').toString()).join('\n');
}

test('appointments in any order, twice, to a calendar that loses answers: each change once, the right one standing', async (context) => {
  const clinic = await openClinic(context);
  const { stack, calendar, send, startWorker } = clinic;
  const worker = await startWorker('worker');
  calendar.script('execute-then-cut', '503', '429:1', 'execute-then-503', 'cut', 'execute-then-cut');

  const payloads: SetPayload[] = [];
  for (let appointment = 0; appointment < 4; appointment += 1) {
    const appointment_id = `appt_${token()}`;
    const at = (version: number): Record<string, unknown> => ({
      appointment_id,
      version,
      title: `${TITLE} ${version}`,
    });
    payloads.push(
      appointmentPayload(at(1)),
      appointmentPayload(at(2), 'rescheduled'),
      appointmentPayload(at(3), appointment % 2 === 0 ? 'rescheduled' : 'canceled'),
    );
  }
  // The last come first; every second one comes again under another event ID.
  const again = payloads.filter((_, index) => index % 2 === 0).map((payload) => ({ ...payload, id: `evt_${token()}` }));
  for (const payload of [...payloads.toReversed(), ...again]) expect(await send(payload)).toBe(200);

  await until('every event is done', () => allDone(clinic));
  await until('every push is confirmed', async () =>
    (await clinic.operations()).every(({ status }) => status === 'confirmed'),
  );
  const operations = await clinic.operations();
  const lost = operations.reduce((sum, { lost_answers }) => sum + lost_answers, 0);
  expect(lost).toBe(5);
  expect(calendar.calls).toHaveLength(operations.length + lost + 1);
  expect(new Set(calendar.executed.map(({ key }) => key))).toEqual(
    new Set(operations.map(({ idempotency_key }) => idempotency_key)),
  );
  expect([...calendar.entries.values()].map(({ version }) => version)).toEqual([3, 3, 3, 3]);
  await expectAgreement(clinic);

  // The URL is nobody's but the worker's, and what was sent is in the database alone.
  const rows = await stack.database.rows('select * from oncehook.operations');
  const histories = await Promise.all(
    payloads.map(async ({ id }) => {
      const handle = stack.temporal.workflow.getHandle(`webhook:hmac:clinic:${id}`);
      return readable(JSON.stringify((await handle.fetchHistory()).events));
    }),
  );
  for (const text of [JSON.stringify(rows), JSON.stringify(worker.lines), ...histories]) {
    expect(text).not.toContain(TOKEN);
  }
  expect(histories.join('')).toContain('http:calendar:default:appt_');
  for (const text of [JSON.stringify(worker.lines), ...histories]) expect(text).not.toContain(TITLE);
});

test('a calendar that does the work and never answers: unknown, then confirmed by the same request', async (context) => {
  const clinic = await openClinic(context);
  const { calendar, send, startWorker } = clinic;
  await startWorker('worker');
  calendar.script('execute-then-hang');
  await send(appointmentPayload());

  await until('the push is unknown', async () => (await clinic.operations())[0]?.status === 'unknown', PATIENCE_MS);
  expect(await clinic.operations()).toMatchObject([{ last_error: 'http_timeout', lost_answers: 1 }]);
  expect(await allDone(clinic)).toBe(true);
  await until('the push is confirmed', async () => (await clinic.operations())[0]?.status === 'confirmed', PATIENCE_MS);
  expect(calendar.calls).toHaveLength(2);
  expect(calendar.calls[1]).toEqual(calendar.calls[0]);
  expect(calendar.executed).toHaveLength(1);
  await expectAgreement(clinic);
});

test('a worker that is killed when the calendar has done the work: another one ends it, done once', async (context) => {
  const clinic = await openClinic(context);
  const { calendar, send, startWorker } = clinic;
  const victim = await startWorker('worker', { checkpoint: 'operation.answered:kill' });
  await send(appointmentPayload());
  await victim.exited;
  expect(await clinic.operations()).toMatchObject([{ status: 'sending', attempts: 1 }]);

  await startWorker('worker');
  await until('the push is confirmed', async () => (await clinic.operations())[0]?.status === 'confirmed', PATIENCE_MS);
  expect(calendar.calls).toHaveLength(2);
  expect(calendar.executed).toHaveLength(1);
  await expectAgreement(clinic);
});

test('payments of a ledger, twice and in contradiction', async (context) => {
  const clinic = await openClinic(context);
  const { stack, send, startWorker } = clinic;
  await startWorker('worker');
  const payment = paymentPayload();
  const again = { ...payment, id: `evt_${token()}` };
  const other = { ...payment, id: `evt_${token()}`, data: { ...payment.data, amount_minor: 1 } };
  const malformed = paymentPayload({ amount_minor: '4200' });
  await send(payment, 'shop');
  await until('the first is done', () => allDone(clinic));
  for (const payload of [payment, again, other, malformed]) expect(await send(payload, 'shop')).toBe(200);

  const inbox = (): Promise<readonly Record<string, unknown>[]> =>
    stack.database.rows(
      `select event_id, status, outcome, reason from oncehook.webhook_inbox where status <> 'pending' order by received_at`,
    );
  await until('all have an answer', async () => (await inbox()).length === 4);
  expect(await inbox()).toEqual([
    { event_id: payment.id, status: 'done', outcome: 'applied', reason: null },
    { event_id: again.id, status: 'done', outcome: 'duplicate', reason: null },
    { event_id: other.id, status: 'quarantined', outcome: null, reason: 'reference_conflict' },
    { event_id: malformed.id, status: 'quarantined', outcome: null, reason: 'schema' },
  ]);
  expect(await stack.database.rows('select reference, amount_minor, currency from oncehook.ledger_entries')).toEqual([
    { reference: payment.data.reference, amount_minor: '4200', currency: 'eur' },
  ]);
});

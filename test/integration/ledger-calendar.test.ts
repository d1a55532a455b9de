import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AppointmentChange } from '../../src/handlers/calendar/appointment.js';
import { calendarHandlers } from '../../src/handlers/calendar/index.js';
import { ledgerHandlers } from '../../src/handlers/ledger/index.js';
import { anyHistory, expectedToStand, permutations } from '../support/appointment-changes.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { ROOT } from '../support/dist.js';
import {
  appointmentPayload,
  eventOf,
  handle,
  paymentPayload,
  type HandlerRun,
  type SetPayload,
} from '../support/handler-events.js';
import { token } from '../support/payment-event.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => database.drop());

const outcomesOf = (runs: readonly HandlerRun[]): readonly string[] =>
  runs.map(({ outcome }) => (outcome.kind === 'quarantine' ? outcome.reason : outcome.kind));

describe('the ledger', () => {
  const run = (payload: SetPayload, tenant?: string): Promise<HandlerRun> =>
    handle(database.pool, ledgerHandlers(), eventOf(payload, tenant));
  const entries = (reference: unknown): Promise<readonly Record<string, unknown>[]> =>
    database.rows(
      `select tenant_id, amount_minor, currency, occurred_at, source_scope, event_id
         from oncehook.ledger_entries
        where reference = $1
        order by tenant_id`,
      [reference],
    );

  it('has one entry per reference, whatever event repeats it', async () => {
    const payment = paymentPayload({
      amount_minor: Number.MAX_SAFE_INTEGER,
      occurred_at: '2026-03-01T10:00:00.5+01:00',
    });
    const again = { ...payment, id: 'evt_again', data: { ...payment.data, occurred_at: '2026-03-09T00:00:00Z' } };
    const runs = [await run(payment), await run(payment), await run(again)];
    expect(outcomesOf(runs)).toEqual(['applied', 'duplicate', 'duplicate']);
    expect(runs.flatMap(({ planned }) => planned)).toEqual([]);
    expect(await entries(payment.data.reference)).toEqual([
      {
        tenant_id: 'default',
        amount_minor: String(Number.MAX_SAFE_INTEGER),
        currency: 'eur',
        occurred_at: new Date('2026-03-01T09:00:00.500Z'),
        source_scope: 'hmac:clinic',
        event_id: payment.id,
      },
    ]);
  });

  it.each([
    ['another amount', { amount_minor: 4201 }],
    ['another currency', { currency: 'usd' }],
  ])('quarantines %s under a known reference, and keeps the first', async (_what, other) => {
    const payment = paymentPayload();
    const contradiction = { ...payment, id: 'evt_other', data: { ...payment.data, ...other } };
    expect(outcomesOf([await run(payment), await run(contradiction)])).toEqual(['applied', 'reference_conflict']);
    expect(await entries(payment.data.reference)).toMatchObject([{ amount_minor: '4200', currency: 'eur' }]);
  });

  it('keeps tenants apart', async () => {
    const payment = paymentPayload();
    const other = { ...payment, data: { ...payment.data, amount_minor: 1 } };
    expect(outcomesOf([await run(payment, 'a'), await run(other, 'b')])).toEqual(['applied', 'applied']);
    expect(await entries(payment.data.reference)).toMatchObject([
      { tenant_id: 'a', amount_minor: '4200' },
      { tenant_id: 'b', amount_minor: '1' },
    ]);
  });

  it('applies one of twenty that come at once, and calls the others what they are', async () => {
    const payment = paymentPayload();
    const other = { ...payment, data: { ...payment.data, amount_minor: 1 } };
    const all = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? payment : other));
    const outcomes = outcomesOf(await Promise.all(all.map((payload) => run(payload)))).toSorted();
    expect(outcomes).toEqual([
      'applied',
      ...Array<string>(9).fill('duplicate'),
      ...Array<string>(10).fill('reference_conflict'),
    ]);
    expect(await entries(payment.data.reference)).toHaveLength(1);
  });

  it('writes nothing for what is malformed', async () => {
    const payment = paymentPayload({ amount_minor: '4200' });
    expect(outcomesOf([await run(payment)])).toEqual(['schema']);
    expect(await entries(payment.data.reference)).toEqual([]);
  });

  it('takes an identifier of 255 bytes and times at both ends of the calendar', async () => {
    for (const occurred_at of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z']) {
      const reference = `${token()}${'€'.repeat(78)}`.padEnd(99, 'a');
      expect(Buffer.byteLength(reference)).toBe(255);
      expect(outcomesOf([await run(paymentPayload({ reference, occurred_at }))])).toEqual(['applied']);
    }
  });
});

describe('the calendar', () => {
  const run = (payload: SetPayload, push = true, tenant?: string): Promise<HandlerRun> =>
    handle(database.pool, calendarHandlers({ push }), eventOf(payload, tenant));

  const payloadOf = (appointmentId: string, change: AppointmentChange): SetPayload =>
    appointmentPayload(
      {
        appointment_id: appointmentId,
        version: change.version,
        starts_at: change.startsAt,
        ends_at: change.endsAt,
        title: change.title,
      },
      change.status,
    );

  const entry = async (appointmentId: unknown): Promise<Record<string, unknown> | undefined> =>
    (
      await database.rows<Record<string, unknown>>(
        `select tenant_id, version, status, starts_at, ends_at, title, event_id
           from oncehook.calendar_entries
          where appointment_id = $1`,
        [appointmentId],
      )
    )[0];

  /** What is stored of a change that stands; the database's own reading of its times. */
  const stored = ({ version, status, startsAt, endsAt, title }: AppointmentChange): Record<string, unknown> => ({
    version: String(version),
    status,
    starts_at: new Date(startsAt),
    ends_at: new Date(endsAt),
    title,
  });

  it('keeps the change that stands, and plans to push it under its version', async () => {
    const created = appointmentPayload({ starts_at: '2026-03-02T10:00:00.000001+01:00' });
    const { appointment_id: appointmentId } = created.data;
    const moved = appointmentPayload({ appointment_id: appointmentId, version: 4, title: 'Prüfung' }, 'rescheduled');
    const runs = [await run(created), await run(moved), await run(created), await run(moved)];
    expect(outcomesOf(runs)).toEqual(['applied', 'applied', 'superseded', 'duplicate']);
    expect(runs.map(({ planned }) => planned.map(({ key }) => key))).toEqual([
      [`http:calendar:default:${String(appointmentId)}:1`],
      [`http:calendar:default:${String(appointmentId)}:4`],
      [],
      [],
    ]);
    expect(runs[0]?.planned[0]).toMatchObject({
      kind: 'http',
      params: {
        target: 'calendar',
        body: {
          tenant: 'default',
          appointment_id: appointmentId,
          version: 1,
          status: 'created',
          starts_at: '2026-03-02T09:00:00.000001Z',
          ends_at: '2026-03-02T09:30:00Z',
          title: 'Check-up',
        },
      },
    });
    expect(await entry(appointmentId)).toMatchObject({ version: '4', status: 'rescheduled', event_id: moved.id });
  });

  it('plans nothing where no calendar is configured', async () => {
    const { outcome, planned } = await run(appointmentPayload(), false);
    expect(outcome).toEqual({ kind: 'applied', operations: [] });
    expect(planned).toEqual([]);
  });

  it('knows a time again that is written in another zone', async () => {
    const created = appointmentPayload({ starts_at: '2026-03-02T09:00:00.10Z' });
    const again = { ...created, data: { ...created.data, starts_at: '2026-03-02T10:00:00.1+01:00' } };
    expect(outcomesOf([await run(created), await run(again)])).toEqual(['applied', 'duplicate']);
  });

  it.each([
    ['another title', { title: 'Surgery' }, 'created'],
    ['another end', { ends_at: '2026-03-02T09:30:00.000001Z' }, 'created'],
    ['a cancel', {}, 'canceled'],
  ] as const)('quarantines a known version with %s, and keeps the first', async (_what, other, change) => {
    const created = appointmentPayload();
    const contradiction = appointmentPayload({ ...created.data, ...other }, change);
    expect(outcomesOf([await run(created), await run(contradiction)])).toEqual(['applied', 'version_conflict']);
    expect(await entry(created.data.appointment_id)).toMatchObject({ status: 'created', title: 'Check-up' });
  });

  it('keeps tenants apart', async () => {
    const created = appointmentPayload();
    const runs = [await run(created, true, 'a'), await run(created, true, 'b')];
    expect(outcomesOf(runs)).toEqual(['applied', 'applied']);
    expect(new Set(runs.flatMap(({ planned }) => planned.map(({ key }) => key))).size).toBe(2);
  });

  it('writes nothing for what is malformed', async () => {
    const created = appointmentPayload({ version: '1' });
    expect(outcomesOf([await run(created)])).toEqual(['schema']);
    expect(await entry(created.data.appointment_id)).toBeUndefined();
  });

  it('plans under a key that fits, for the longest names that a tenant and an appointment can have', async () => {
    const appointmentId = `${token()}${'€'.repeat(78)}a`;
    expect(Buffer.byteLength(appointmentId)).toBe(255);
    const payload = appointmentPayload({ appointment_id: appointmentId, version: Number.MAX_SAFE_INTEGER });
    const { planned } = await run(payload, true, '%'.repeat(255));
    expect(planned[0]?.key.length).toBeLessThanOrEqual(2_000);
  });

  it('ends in one state in every order of arrival, with anything sent again', async () => {
    let orders = 0;
    await fc.assert(
      fc.asyncProperty(anyHistory({ changes: 3, again: 1 }), async (history) => {
        const expected = expectedToStand(history);
        for (const order of permutations(history)) {
          const appointmentId = `appt_${token()}`;
          const runs: HandlerRun[] = [];
          for (const change of order) runs.push(await run(payloadOf(appointmentId, change)));
          expect(await entry(appointmentId), JSON.stringify(order)).toMatchObject(stored(expected));
          expectPushed(runs, expected);
          orders += 1;
        }
      }),
      { numRuns: 20 },
    );
    expect(orders).toBeGreaterThan(50);
  });

  it('ends in the same state when everything arrives at once', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory({ changes: 6, again: 4 }), async (history) => {
        const expected = expectedToStand(history);
        const appointmentId = `appt_${token()}`;
        const runs = await Promise.all(history.map((change) => run(payloadOf(appointmentId, change))));
        expect(await entry(appointmentId)).toMatchObject(stored(expected));
        expectPushed(runs, expected);
      }),
      { numRuns: 40 },
    );
  });

  /** Each version is pushed at most once, and what stands is among them. */
  function expectPushed(runs: readonly HandlerRun[], expected: AppointmentChange): void {
    const versions = runs.flatMap(({ planned }) => planned.map(({ key }) => Number(key.split(':').at(-1))));
    expect(new Set(versions).size).toBe(versions.length);
    expect(versions).toContain(expected.version);
    expect(outcomesOf(runs).filter((outcome) => outcome === 'applied')).toHaveLength(versions.length);
    expect(outcomesOf(runs)).not.toContain('version_conflict');
  }
});

describe('the statement that docs/handler-sets.md gives to a calendar', () => {
  const [, upsert = ''] = /```sql\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs/handler-sets.md'), 'utf8')) ?? [];

  it('ends in the same state as ours in every order of arrival', async () => {
    await database.pool.query(
      `create table calendar (tenant text, appointment_id text, version bigint, status text,
                              starts_at timestamptz, ends_at timestamptz, title text, primary key (tenant, appointment_id))`,
    );
    await fc.assert(
      fc.asyncProperty(anyHistory({ changes: 3, again: 1 }), async (history) => {
        const expected = expectedToStand(history);
        for (const order of permutations(history)) {
          const id = `appt_${token()}`;
          for (const { version, status, startsAt, endsAt, title } of order) {
            await database.pool.query(upsert, ['t', id, version, status, startsAt, endsAt, title]);
          }
          const [shown] = await database.rows('select * from calendar where appointment_id = $1', [id]);
          expect(shown).toMatchObject({
            version: String(expected.version),
            status: expected.status,
            title: expected.title,
          });
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('what the tables refuse', () => {
  const ledger = (values: string): Promise<unknown> =>
    database.pool.query(
      `insert into oncehook.ledger_entries
              (tenant_id, reference, amount_minor, currency, occurred_at, source_scope, event_id)
       values ('t', ${values}, now(), 's', 'e')`,
    );
  const calendar = (values: string): Promise<unknown> =>
    database.pool.query(
      `insert into oncehook.calendar_entries
              (tenant_id, appointment_id, version, status, starts_at, ends_at, title, source_scope, event_id)
       values ('t', ${values}, '', 's', 'e')`,
    );

  it.each([
    ['a negative amount', () => ledger(`'r', -1, 'eur'`), 'ledger_entries_amount_not_negative'],
    ['a currency in capitals', () => ledger(`'r', 1, 'EUR'`), 'ledger_entries_currency_form'],
    ['an empty reference', () => ledger(`'', 1, 'eur'`), 'ledger_entries_reference_length'],
    ['a negative version', () => calendar(`'a', -1, 'created', now(), now()`), 'calendar_entries_version_not_negative'],
    ['an unknown status', () => calendar(`'a', 1, 'moved', now(), now()`), 'calendar_entries_status_known'],
    [
      'an end before the start',
      () => calendar(`'a', 1, 'created', now(), now() - interval '1 second'`),
      'calendar_entries_ends_after_start',
    ],
    [
      'an endless name',
      () => calendar(`repeat('a', 256), 1, 'created', now(), now()`),
      'calendar_entries_appointment_id_length',
    ],
  ])('%s', async (_what, insert, constraint) => {
    await expect(insert()).rejects.toMatchObject({ code: '23514', constraint });
  });
});

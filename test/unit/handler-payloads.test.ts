import { describe, expect, it } from 'vitest';
import { readAppointment } from '../../src/handlers/calendar/appointment.js';
import { instant, isBefore } from '../../src/handlers/instant.js';
import { readPaymentFact } from '../../src/handlers/ledger/payment-fact.js';
import { appointmentPayload, paymentPayload } from '../support/handler-events.js';

/** As the apply step reads it: through JSON. */
function throughJson(payload: unknown): unknown {
  return JSON.parse(JSON.stringify(payload));
}

const read = {
  ledger: (payload: unknown, type = 'payment.succeeded') => readPaymentFact({ type, payload: throughJson(payload) }),
  calendar: (payload: unknown, type = 'appointment.created') =>
    readAppointment({ type, payload: throughJson(payload) }),
};

describe('a time', () => {
  it.each([
    ['2026-03-01T09:00:00Z', '2026-03-01T09:00:00Z'],
    ['2026-03-01T10:00:00+01:00', '2026-03-01T09:00:00Z'],
    ['2026-02-28T23:30:00-09:30', '2026-03-01T09:00:00Z'],
    ['2026-03-01T09:00:00.000Z', '2026-03-01T09:00:00Z'],
    ['2026-03-01T09:00:00.250000+00:00', '2026-03-01T09:00:00.25Z'],
    ['2026-03-01T09:00:00.000001Z', '2026-03-01T09:00:00.000001Z'],
    ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59.5Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  ])('%s is %s', (written, spelled) => {
    expect(instant.parse(written)).toBe(spelled);
  });

  it.each([
    '2026-03-01T09:00:00', // no zone: nobody knows when that is
    '2026-03-01T09:00Z',
    '2026-03-01 09:00:00Z',
    '2026-03-01',
    '2026-02-29T00:00:00Z',
    '2026-03-01T24:00:00Z',
    '2026-06-30T23:59:60Z',
    '2026-03-01T09:00:00.0000001Z',
    '2026-03-01T09:00:00+01',
    '2026-03-01T09:00:00Z\n',
    '0000-06-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:30:00-01:00',
    '',
    'now',
    1_772_355_600,
    null,
  ])('%j is none', (written) => {
    expect(instant.safeParse(written).success).toBe(false);
  });

  it('comes before another by time, not by its text', () => {
    expect(isBefore('2026-03-01T09:00:00Z', '2026-03-01T09:00:00.5Z')).toBe(true);
    expect(isBefore('2026-03-01T09:00:00.5Z', '2026-03-01T09:00:00Z')).toBe(false);
    expect(isBefore('2026-03-01T09:00:00.25Z', '2026-03-01T09:00:00.5Z')).toBe(true);
    expect(isBefore('2026-03-01T09:00:00Z', '2026-03-01T09:00:00Z')).toBe(false);
  });
});

/** 255 bytes of UTF-8 in 85 characters. */
const LONGEST = '€'.repeat(85);

const BAD_IDENTIFIERS = [
  '',
  `${LONGEST}a`,
  'a\u0000b',
  'half \ud83d',
  '\udc00',
  7,
  null,
  undefined,
  ['a'],
  { id: 'a' },
];

describe('a payment of the ledger', () => {
  it('is read as it is', () => {
    expect(read.ledger(paymentPayload({ reference: 'ref_1', amount_minor: 4200, extra: true }))).toEqual({
      reference: 'ref_1',
      amountMinor: 4200,
      currency: 'eur',
      occurredAt: '2026-03-01T09:00:00Z',
    });
  });

  it.each([
    ['reference', LONGEST],
    ['reference', ' '],
    ['amount_minor', 0],
    ['amount_minor', Number.MAX_SAFE_INTEGER],
  ])('may have %s %j', (field, value) => {
    expect(read.ledger(paymentPayload({ [field]: value }))).not.toBeNull();
  });

  it.each([
    ...BAD_IDENTIFIERS.map((value) => ['reference', value] as const),
    ...['4200', 42.5, -1, 2 ** 53, null, undefined, true, [4200]].map((value) => ['amount_minor', value] as const),
    ...['EUR', 'eu', 'euro', 'eur\n', '', 978, null, undefined].map((value) => ['currency', value] as const),
    ...['2026-03-01', 1_772_355_600, null, undefined].map((value) => ['occurred_at', value] as const),
  ])('is none with %s %j', (field, value) => {
    expect(read.ledger(paymentPayload({ [field]: value }))).toBeNull();
  });

  it.each([null, [], 'payment', {}, { type: 'payment.succeeded' }, { type: 'payment.succeeded', data: [] }])(
    'is not %j',
    (payload) => {
      expect(read.ledger(payload)).toBeNull();
    },
  );

  it('is none where a header gave the event another type than the signed body has', () => {
    expect(read.ledger({ ...paymentPayload(), type: 'payment.failed' })).toBeNull();
    expect(read.ledger({ ...paymentPayload(), type: undefined })).toBeNull();
  });
});

describe('a change of an appointment', () => {
  it('is read as it is', () => {
    const data = { appointment_id: 'appt_1', version: 7, starts_at: '2026-03-02T10:00:00+01:00', notes: 'x' };
    expect(read.calendar(appointmentPayload(data, 'rescheduled'), 'appointment.rescheduled')).toEqual({
      appointmentId: 'appt_1',
      version: 7,
      status: 'rescheduled',
      startsAt: '2026-03-02T09:00:00Z',
      endsAt: '2026-03-02T09:30:00Z',
      title: 'Check-up',
    });
  });

  it.each([
    ['appointment_id', LONGEST],
    ['appointment_id', '../..'],
    ['version', 0],
    ['version', Number.MAX_SAFE_INTEGER],
    ['title', ''],
    ['title', 'x'.repeat(1_000)],
    ['title', 'two\nlines 👩‍⚕️'],
    ['ends_at', '2026-03-02T09:00:00Z'],
  ])('may have %s %j', (field, value) => {
    expect(read.calendar(appointmentPayload({ [field]: value }))).not.toBeNull();
  });

  it.each([
    ...BAD_IDENTIFIERS.map((value) => ['appointment_id', value] as const),
    ...['1', 1.5, -1, 2 ** 53, null, undefined].map((value) => ['version', value] as const),
    ...['x'.repeat(1_001), 'a\u0000', '\ud83d', 7, null, undefined].map((value) => ['title', value] as const),
    ...['tomorrow', 1_772_355_600, null, undefined].map((value) => ['starts_at', value] as const),
    ...['2026-03-02T08:59:59.999999Z', '', null, undefined].map((value) => ['ends_at', value] as const),
  ])('is none with %s %j', (field, value) => {
    expect(read.calendar(appointmentPayload({ [field]: value }))).toBeNull();
  });

  it('is none where a header gave the event another type than the signed body has', () => {
    expect(read.calendar(appointmentPayload(), 'appointment.canceled')).toBeNull();
    expect(read.calendar({ ...appointmentPayload(), type: 'appointment.moved' }, 'appointment.moved')).toBeNull();
  });
});

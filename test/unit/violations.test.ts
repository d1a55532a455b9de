import { describe, expect, it } from 'vitest';
import type { Evidence } from '../support/evidence.js';
import { violationsIn } from '../support/violations.js';

// The judge of every crash test: what it does not see, none of them can find.

const SHA = 'a'.repeat(64);

const SOUND: Evidence = {
  mail: 'resend',
  sent: [{ eventId: 'evt_1', orderId: 'order_1', sha256: SHA }],
  deliveries: [
    { eventId: 'evt_1', status: null, said: null, retryAfter: null, ms: 1 },
    { eventId: 'evt_1', status: 503, said: 'unavailable', retryAfter: '5', ms: 1 },
    { eventId: 'evt_1', status: 200, said: 'accepted', retryAfter: null, ms: 1 },
    { eventId: 'evt_1', status: 200, said: 'duplicate', retryAfter: null, ms: 1 },
  ],
  inbox: [
    {
      eventId: 'evt_1',
      status: 'done',
      outcome: 'applied',
      reason: null,
      isDispatched: true,
      signedSha256: SHA,
      payloadSha256: SHA,
    },
  ],
  orders: [
    {
      id: 'order_1',
      status: 'paid',
      totalMinor: '4200',
      capturedMinor: '4200',
      holdReason: null,
      customerEmail: 'buyer@example.com',
    },
  ],
  transitions: [{ orderId: 'order_1', before: 'awaiting_payment', after: 'paid' }],
  payments: [{ orderId: 'order_1', paymentId: 'pi_1', role: 'bound' }],
  operations: [{ key: 'email:1', orderId: 'order_1', status: 'confirmed', lastError: null, messageId: '<m1@shop>' }],
  mails: [{ messageId: '<m1@shop>', sha256: SHA, to: ['buyer@example.com'] }],
  runs: [{ workflowId: 'webhook:s:evt_1', runId: 'r1', status: 'COMPLETED' }],
};

const [delivery] = SOUND.deliveries.slice(2);
const [row] = SOUND.inbox;
const [order] = SOUND.orders;
const [operation] = SOUND.operations;
const [mail] = SOUND.mails;
const [run] = SOUND.runs;

describe('the judge of a run', () => {
  it('finds nothing where every promise was kept', () => {
    expect(violationsIn(SOUND)).toEqual([]);
    expect(violationsIn({ ...SOUND, mails: [mail!, mail!] })).toEqual([]);
  });

  it('lets an event that was never acknowledged be missing, and its order unpaid', () => {
    const unacknowledged = SOUND.deliveries.slice(0, 2);
    const unpaid = [{ ...order!, status: 'awaiting_payment', capturedMinor: '0' }];
    const nothing = { inbox: [], transitions: [], payments: [], operations: [], mails: [], runs: [] };
    expect(violationsIn({ ...SOUND, ...nothing, deliveries: unacknowledged, orders: unpaid })).toEqual([]);
  });

  it('lets a mail under hold be in doubt, sent or not', () => {
    const inDoubt = [{ ...operation!, status: 'parked', lastError: 'outcome_unknown' }];
    expect(violationsIn({ ...SOUND, mail: 'hold', operations: inDoubt })).toEqual([]);
    expect(violationsIn({ ...SOUND, mail: 'hold', operations: inDoubt, mails: [] })).toEqual([]);
  });

  const spoilt: [string, Partial<Evidence>, string][] = [
    ['a valid event refused', { deliveries: [delivery!, { ...delivery!, status: 401 }] }, 'answered with 401'],
    ['a 503 without Retry-After', { deliveries: [delivery!, { ...delivery!, status: 503 }] }, 'answered with 503'],
    ['an event accepted twice', { deliveries: [delivery!, delivery!] }, 'accepted more than once'],
    ['an acknowledged event lost', { inbox: [] }, 'acknowledged and has 0 rows'],
    ['an acknowledged event in two rows', { inbox: [row!, row!] }, 'acknowledged and has 2 rows'],
    ['other bytes verified', { inbox: [{ ...row!, signedSha256: 'b' }] }, 'under other bytes'],
    ['another payload kept', { inbox: [{ ...row!, payloadSha256: 'b' }] }, 'another payload'],
    ['a payload lost', { inbox: [{ ...row!, payloadSha256: null }] }, 'another payload'],
    ['a row of nobody', { inbox: [row!, { ...row!, eventId: 'evt_2' }] }, 'never sent'],
    ['an event left pending', { inbox: [{ ...row!, status: 'pending', outcome: null }] }, 'is pending'],
    ['a fault quarantined', { inbox: [{ ...row!, status: 'quarantined', reason: 'handler_error' }] }, 'handler_error'],
    ['an event ignored', { inbox: [{ ...row!, outcome: 'ignored' }] }, 'ended ignored'],
    ['an order unpaid', { orders: [{ ...order!, status: 'awaiting_payment' }] }, 'is awaiting_payment'],
    ['an order under a hold', { orders: [{ ...order!, holdReason: 'late' }] }, 'is paid (late)'],
    ['too little captured', { orders: [{ ...order!, capturedMinor: '1' }] }, '1 of 4200'],
    ['a transition made twice', { transitions: [...SOUND.transitions, ...SOUND.transitions] }, '2 transitions'],
    ['a transition of nobody', { sent: [], deliveries: [], inbox: [] }, 'nobody paid it'],
    ['a payment missing', { payments: [] }, '0 payments'],
    ['a payment kept twice', { payments: [...SOUND.payments, ...SOUND.payments] }, '2 payments'],
    ['a confirmation never planned', { operations: [], mails: [] }, '0 confirmations'],
    ['a confirmation planned twice', { operations: [operation!, { ...operation!, key: 'b' }] }, '2 confirmations'],
    ['a confirmation left open', { operations: [{ ...operation!, status: 'sending' }] }, 'is sending'],
    ['a confirmation parked under resend', { operations: [{ ...operation!, status: 'parked' }] }, 'is parked'],
    ['a mail of no operation', { mails: [mail!, { ...mail!, messageId: '<m2@shop>' }] }, 'belongs to no operation'],
    ['a mail to somebody else', { mails: [{ ...mail!, to: ['eve@example.com'] }] }, 'somebody else'],
    ['a mail confirmed and not sent', { mails: [] }, 'was not sent'],
    ['a second copy under hold', { mail: 'hold', mails: [mail!, mail!] }, '2 times under hold'],
    ['a second copy of other bytes', { mails: [mail!, { ...mail!, sha256: 'b' }] }, 'other bytes'],
    ['a run left open', { runs: [{ ...run!, status: 'RUNNING' }] }, 'is RUNNING'],
    ['a run that failed', { runs: [{ ...run!, status: 'FAILED' }] }, 'is FAILED'],
  ];

  it.each(spoilt)('sees %s', (_what, spoil, sentence) => {
    expect(violationsIn({ ...SOUND, ...spoil }).join('\n')).toContain(sentence);
  });
});

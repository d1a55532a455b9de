import { describe, expect, test } from 'vitest';
import { stripeSource, type StripeSettings } from '../../src/sources/stripe.js';
import type { Envelope } from '../../src/sources/source.js';
import { stripeEventBytes, stripeFixtures } from '../support/vectors.js';

const SETTINGS: StripeSettings = {
  name: 'stripe',
  account: 'acct_1',
  mode: 'any',
  tenant: 'shop',
  accounts: new Map(),
  ignore: [],
};
const CONNECT = new Map([['acct_9', 'tenant-9']]);
const EVENT = {
  id: 'evt_1',
  object: 'event',
  type: 'payment_intent.succeeded',
  created: 1_700_000_000,
  livemode: true,
  request: { id: 'req_1', idempotency_key: null },
};

describe('the envelope of a Stripe event', () => {
  test('holds what the event says', () => {
    expect(envelope(EVENT)).toEqual({
      eventId: 'evt_1',
      identity: 'signed',
      eventType: 'payment_intent.succeeded',
      scope: 'stripe:acct_1:live',
      tenant: 'shop',
      providerCreatedAt: '2023-11-14T22:13:20.000Z',
      senderRequestId: 'req_1',
      twinEventId: null,
      disposition: { kind: 'process' },
    });
  });

  test.each(stripeFixtures().map(({ file, ...event }) => [file, event] as const))('is read from %s', (file, event) => {
    const read = envelope(JSON.parse(stripeEventBytes(file).toString()), { account: 'acct_1TestAccount' });
    expect(read).toMatchObject({ eventId: event.id, eventType: event.type, disposition: { kind: 'process' } });
    expect(read?.providerCreatedAt).toMatch(/^2023-11-/);
  });

  test('takes a thin event with its ISO time and the request that caused it', () => {
    const thin = {
      id: 'evt_t',
      object: 'v2.core.event',
      type: 'v1.payment_intent.succeeded',
      created: '2026-01-01T00:00:00.123456Z',
      livemode: false,
      reason: { type: 'request', request: { id: 'req_t' } },
    };
    expect(envelope(thin)).toMatchObject({
      scope: 'stripe:acct_1:test',
      providerCreatedAt: '2026-01-01T00:00:00.123Z',
      senderRequestId: 'req_t',
      disposition: { kind: 'process' },
    });
  });
});

describe('the scope', () => {
  test.each<[string, Partial<StripeSettings>, object, string]>([
    ["the event's account", {}, { account: 'acct_9', context: 'acct_8' }, 'stripe:acct_9:live'],
    ['its context, when it names no account', {}, { account: null, context: 'acct_8' }, 'stripe:acct_8:live'],
    ['the configured account', {}, { account: null, context: null }, 'stripe:acct_1:live'],
    ['the mode that the event says', { mode: 'live' }, { livemode: false }, 'stripe:acct_1:test'],
    ['the configured mode, when it says none', { mode: 'live' }, { livemode: undefined }, 'stripe:acct_1:live'],
    ['test, when neither says', { mode: 'any' }, { livemode: undefined }, 'stripe:acct_1:test'],
  ])('takes %s', (_name, settings, event, scope) => {
    expect(envelope({ ...EVENT, ...event }, settings)?.scope).toBe(scope);
  });
});

describe('on receipt', () => {
  const quarantined = (reason: string): object => ({ kind: 'quarantined', reason });
  const ignored = (reason: string | null): object => ({ kind: 'done', outcome: 'ignored', reason });

  test.each<[string, Partial<StripeSettings>, object, object]>([
    ['a test event on a live source waits', { mode: 'live' }, { livemode: false }, quarantined('mode_mismatch')],
    ['a live event on a test source waits', { mode: 'test' }, { livemode: true }, quarantined('mode_mismatch')],
    [
      'a test event on a live source with accounts is expected, and ignored',
      { mode: 'live', accounts: CONNECT },
      { livemode: false, account: 'acct_9' },
      ignored('mode_mismatch'),
    ],
    [
      'a live event on a test source with accounts waits',
      { mode: 'test', accounts: CONNECT },
      { livemode: true },
      quarantined('mode_mismatch'),
    ],
    ['an account that is not listed waits', {}, { account: 'acct_8' }, quarantined('account_mismatch')],
    ['an ignored type is done', { ignore: ['invoice.*'] }, { type: 'invoice.paid' }, ignored(null)],
    ['another type is not', { ignore: ['invoice.*'] }, { type: 'invoiceitem.created' }, { kind: 'process' }],
    [
      'an event older than activeFrom is done',
      { activeFrom: new Date(1_700_000_000_001) },
      {},
      ignored('before_active_from'),
    ],
    ['an event as old as activeFrom is not', { activeFrom: new Date(1_700_000_000_000) }, {}, { kind: 'process' }],
  ])('%s', (_name, settings, event, disposition) => {
    expect(envelope({ ...EVENT, ...event }, settings)?.disposition).toEqual(disposition);
  });

  test('an account that is listed has its own tenant', () => {
    expect(envelope({ ...EVENT, account: 'acct_9' }, { accounts: CONNECT })).toMatchObject({
      tenant: 'tenant-9',
      scope: 'stripe:acct_9:live',
      disposition: { kind: 'process' },
    });
    expect(envelope({ ...EVENT, account: 'acct_8' }, { accounts: CONNECT })?.tenant).toBeNull();
  });
});

describe('what is no event', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['a number', 1],
    ['an array', [EVENT]],
    ['no ID', { ...EVENT, id: undefined }],
    ['a numeric ID', { ...EVENT, id: 12345 }],
    ['an ID that is an object', { ...EVENT, id: { toString: 'x' } }],
    ['an empty ID', { ...EVENT, id: '' }],
    ['an ID of 256 characters', { ...EVENT, id: 'e'.repeat(256) }],
    ['an ID with a line break', { ...EVENT, id: 'evt_1\n' }],
    ['an ID with a space', { ...EVENT, id: 'evt 1' }],
    ['an ID beyond ASCII', { ...EVENT, id: 'evt_é' }],
    ['no type', { ...EVENT, type: undefined }],
    ['a numeric type', { ...EVENT, type: 7 }],
    ['an account that is no text', { ...EVENT, account: 7 }],
    ['an account with a line break', { ...EVENT, account: 'acct_1\n' }],
    ['a mode that is text', { ...EVENT, livemode: 'true' }],
    ['fields that are inherited only', JSON.parse('{"__proto__":{"id":"evt_p","type":"x"}}')],
  ])('%s', (_name, payload) => {
    expect(envelope(payload)).toBeUndefined();
  });

  test('an ID of 255 characters is one', () => {
    expect(envelope({ ...EVENT, id: 'e'.repeat(255) })?.eventId).toHaveLength(255);
  });

  test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('the type %s is just text', (type) => {
    expect(envelope({ ...EVENT, type })?.eventType).toBe(type);
  });

  test.each<[string, unknown]>([
    ['text', 'soon'],
    ['beyond any calendar', 1e18],
    ['not a time', 'Infinity'],
    ['an object', {}],
    ['an ISO time without a zone', '2026-01-01T00:00:00'],
    ['the thirteenth month', '2026-13-01T00:00:00Z'],
    ['missing', undefined],
  ])('a time of making that is %s does not count', (_name, created) => {
    expect(envelope({ ...EVENT, created })?.providerCreatedAt).toBeNull();
  });

  test('a time before 1970 counts', () => {
    expect(envelope({ ...EVENT, created: -1 })?.providerCreatedAt).toBe('1969-12-31T23:59:59.000Z');
  });

  test('a request ID with a line break is not told on', () => {
    expect(envelope({ ...EVENT, request: { id: 'req_1\n' } })?.senderRequestId).toBeNull();
  });
});

function envelope(payload: unknown, settings: Partial<StripeSettings> = {}): Envelope | undefined {
  const text = JSON.stringify(payload);
  const reading = stripeSource({ ...SETTINGS, ...settings }).read({ headers: {}, text, payload });
  return reading?.kind === 'event' ? reading.envelope : undefined;
}

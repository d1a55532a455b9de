import { describe, expect, it } from 'vitest';
import { findNotBuiltYet, type NotBuiltYet } from '../../src/config/not-built-yet.js';
import { inDocument } from '../../src/config/problem.js';
import { GOOD_FILE, loadText, problemsOf } from '../support/config-input.js';

const OTHER_SOURCES = `  hub: { kind: github, secrets: ["\${S}"] }
  svix: { kind: standard-webhooks, secrets: ["\${STANDARD}"] }
  clinic:
    kind: hmac
    secrets: ["\${S}"]
    signature: { header: X-Signature }
    eventId: { body: /id }
    eventType: { body: /type }
`;
const env = {
  STRIPE_WEBHOOK_SECRET: 'whsec_0123456789abcdef',
  DATABASE_URL: 'postgres://db.example/shop',
  S: 'a secret of twenty-four bytes',
  STANDARD: Buffer.alloc(24).toString('base64'),
};

describe('what is not built yet', () => {
  it('is refused by its name where it must be, and only where a document asks for it', () => {
    const table: readonly NotBuiltYet[] = [
      { path: 'sources.*.shadow', asksForIt: (value) => value === true, say: () => 'is not built', level: 'refuse' },
    ];
    const document = { sources: { a: { shadow: true }, b: { shadow: false }, c: {} } };
    const { problems, warnings } = findNotBuiltYet(document, table, () => true);
    expect(problems).toEqual([inDocument(['sources', 'a', 'shadow'], 'is not built')]);
    expect(warnings).toEqual([]);
  });

  it('is nothing about a kind of source: all of them are built', () => {
    expect([...loadText(GOOD_FILE + OTHER_SOURCES, { env }).sources.keys()]).toEqual([
      'stripe',
      'hub',
      'svix',
      'clinic',
    ]);
  });

  it('is checked all the same, so that it is right when it is built', () => {
    const text = (GOOD_FILE + OTHER_SOURCES).replace('header: X-Signature', 'headr: X-Signature');
    expect(problemsOf(() => loadText(text, { env: { ...env, S: 'short' } }))).toEqual(
      expect.arrayContaining([
        'oncehook.yaml:6: sources.hub.secrets[0]: S has fewer than 8 bytes',
        'oncehook.yaml:11: sources.clinic.signature.headr: unknown key; did you mean header?',
      ]),
    );
  });

  it.each([
    ['    shadow: true\n'],
    ['    handlers: ledger\n'],
    ['    handlers: calendar\ncalendar: { url: "https://calendar.example" }\n'],
  ])('is no longer said of what is built: %j', (lines) => {
    expect(loadText(GOOD_FILE + lines, { env }).warnings).toEqual([]);
  });

  it('is let pass where a document spells out the default', () => {
    const text = `${GOOD_FILE}    shadow: false
orders: { latePayment: refund, secondPayment: refund, overpaid: quarantine }
effects: { refund: { mode: propose, maxAmountMinor: 100000, perHour: 50 }, email: { mode: auto } }
`;
    expect(loadText(text, { env }).warnings).toEqual([]);
  });

  it.each([
    ['retention: { payload: 30d }\n', 'retention.payload: has no effect yet: nothing is deleted'],
    ['retention: { inbox: 60d, payload: 0d }\n', 'retention.inbox: has no effect yet: nothing is deleted'],
  ])('is warned of where it is merely without effect: %j', (lines, says) => {
    expect(loadText(GOOD_FILE + lines, { env }).warnings.join('\n')).toContain(says);
  });
});

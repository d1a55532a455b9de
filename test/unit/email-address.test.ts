import { describe, expect, test } from 'vitest';
import { isPlainAddress, parseMailbox } from '../../src/providers/email-address.js';
import { workOf } from '../support/timing.js';

const label63 = 'a'.repeat(63);

describe('a recipient', () => {
  test.each([
    'ada@example.com',
    'ada.lovelace+orders@shop.example.co.uk',
    "o'brien@example.com",
    'a@b.cd',
    `${'a'.repeat(64)}@example.com`,
    `ada@${label63}.example`,
    'ada@xn--mnchen-3ya.de',
  ])('may be %s', (address) => {
    expect(isPlainAddress(address)).toBe(true);
  });

  test.each([
    ['nothing', ''],
    ['no at sign', 'example.com'],
    ['no local part', '@example.com'],
    ['no domain', 'ada@'],
    ['a bare host', 'root@localhost'],
    ['a number as top level', 'ada@127.0.0.1'],
    ['an address literal', 'ada@[127.0.0.1]'],
    ['a name', 'Ada <ada@example.com>'],
    ['angle brackets', '<ada@example.com>'],
    ['two recipients', 'a@example.com, victim@example.com'],
    ['two recipients without a space', 'a@example.com,victim@example.com'],
    ['a semicolon', 'a@example.com;victim@example.com'],
    ['a group', 'team:a@example.com,victim@example.com;'],
    ['a quoted local part', '"victim@example.net x"@example.com'],
    ['a quoted route', '"@example.net"@example.com'],
    ['a source route', '@relay.example:ada@example.com'],
    ['a percent hack', 'victim%example.net@example.com'],
    ['a bang path', 'example.net!victim@example.com'],
    ['a pipe', '|touch@example.com'],
    ['a comment', 'ada(comment)@example.com'],
    ['a comment in the domain', 'ada@example.com(.evil.example)'],
    ['a second at sign', 'victim@example.net@example.com'],
    ['a line break and a command', 'a@example.com>\r\nRCPT TO:<victim@example.com'],
    ['a trailing line feed', 'ada@example.com\n'],
    ['a NUL', 'ada\0@example.com'],
    ['a leading space', ' ada@example.com'],
    ['an inner space', 'ada lovelace@example.com'],
    ['a tab', 'ada\t@example.com'],
    ['a no-break space', 'ada\u00a0@example.com'],
    ['letters that are not ASCII', 'ada@m\u00fcnchen.de'],
    ['a full-width at sign', 'ada\uff20example.com'],
    ['an ideographic full stop', 'ada@example\u3002com'],
    ['a right-to-left override', 'ada\u202e@example.com'],
    ['two dots', 'ada..l@example.com'],
    ['a leading dot', '.ada@example.com'],
    ['a trailing dot', 'ada.@example.com'],
    ['an empty label', 'ada@example..com'],
    ['a leading hyphen in a label', 'ada@-example.com'],
    ['a trailing hyphen in a label', 'ada@example-.com'],
    ['a trailing hyphen in the last label', 'ada@example.co-'],
    ['a dot at the end', 'ada@example.com.'],
    ['a local part over 64', `${'a'.repeat(65)}@example.com`],
    ['a label over 63', `ada@${label63}a.example`],
    ['a domain over 253', `ada@${[label63, label63, label63, label63].join('.')}.example`],
  ])('may not have %s', (_what, address) => {
    expect(isPlainAddress(address)).toBe(false);
  });

  test('is judged in time that grows with its length only', () => {
    const work = workOf(() => {
      isPlainAddress(`${'a.'.repeat(100_000)}@${'a-'.repeat(100_000)}`);
      isPlainAddress(`a@${'a-'.repeat(120)}`);
    });
    expect(work).toBeLessThan(200);
  });
});

describe('a sender', () => {
  test.each([
    ['shop@example.com', { name: '', address: 'shop@example.com' }],
    ['The Shop <shop@example.com>', { name: 'The Shop', address: 'shop@example.com' }],
    ['"Shop, The" <shop@example.com>', { name: 'Shop, The', address: 'shop@example.com' }],
    ['Caf\u00e9 <shop@example.com>', { name: 'Caf\u00e9', address: 'shop@example.com' }],
  ])('may be %s', (text, mailbox) => {
    expect(parseMailbox(text)).toEqual(mailbox);
  });

  test.each([
    '',
    'The Shop',
    'The Shop <shop>',
    'a@example.com, b@example.com',
    'A\r\nBcc: v@example.com <a@example.com>',
  ])('may not be %j', (text) => {
    expect(() => parseMailbox(text)).toThrow(TypeError);
  });
});

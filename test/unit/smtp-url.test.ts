import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import { parseSmtpUrl } from '../../src/providers/smtp-url.js';

describe('the SMTP URL', () => {
  test('names host and port, with the usual ports where it does not', () => {
    expect(parseSmtpUrl('smtp://mail.example:2525')).toMatchObject({ host: 'mail.example', port: 2525 });
    expect(parseSmtpUrl('smtp://mail.example')).toMatchObject({ port: 587, tls: 'offered' });
    expect(parseSmtpUrl('smtps://mail.example')).toMatchObject({ port: 465, tls: 'implicit' });
    expect(parseSmtpUrl('smtp://[::1]:25')).toMatchObject({ host: '::1', port: 25 });
  });

  test('decodes credentials', () => {
    expect(parseSmtpUrl('smtps://us%40er:p%3Aa%25ss@mail.example').auth).toEqual({ user: 'us@er', pass: 'p:a%ss' });
    expect(parseSmtpUrl('smtps://mail.example').auth).toBeUndefined();
  });

  test('demands TLS when told to, and for a password unless told not to', () => {
    expect(parseSmtpUrl('smtp://mail.example?requireTLS=true').tls).toBe('required');
    expect(parseSmtpUrl('smtp://u:p@mail.example').tls).toBe('required');
    expect(parseSmtpUrl('smtp://u:p@mail.example?requireTLS=false').tls).toBe('offered');
  });

  test('checks certificates unless told not to', () => {
    expect(parseSmtpUrl('smtps://mail.example').rejectUnauthorized).toBe(true);
    const other = parseSmtpUrl('smtps://10.0.0.1?tls.rejectUnauthorized=false&tls.servername=mail.example&name=me');
    expect(other).toMatchObject({ rejectUnauthorized: false, servername: 'mail.example', name: 'me' });
  });

  test.each([
    ['another protocol', 'http://mail.example'],
    ['no URL', 'mail.example:25'],
    ['no host', 'smtp://'],
    ['a misspelled parameter', 'smtp://mail.example?requireTls=true'],
    ['a truth that is neither', 'smtp://mail.example?requireTLS=yes'],
    ['a contradiction', 'smtps://mail.example?requireTLS=false'],
    ['a line break in a name', 'smtp://mail.example?name=a%0d%0aRCPT'],
    ['a path', 'smtp://mail.example/inbox'],
    ['a user without a password', 'smtp://user@mail.example'],
    ['a half-written escape', 'smtp://user:50%25%@mail.example'],
  ])('is refused with %s', (_what, url) => {
    expect(() => parseSmtpUrl(url)).toThrow(ConfigError);
  });

  test('is never quoted in a complaint', () => {
    const complaint = (url: string): string => {
      try {
        parseSmtpUrl(url);
      } catch (error) {
        return String(error);
      }
      return '';
    };
    for (const url of ['smtp://user:hunter2@mail.example/x?hunter2=1', 'ftp://user:hunter2@mail.example']) {
      expect(complaint(url)).toContain('SMTP_URL');
      expect(complaint(url)).not.toContain('hunter2');
    }
  });
});

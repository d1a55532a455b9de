import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { OperationContext } from '../../src/index.js';
import { emailOperation, type EmailParams, type EmailTemplates } from '../../src/providers/email.js';
import { mailOperation, type EmailPolicy, type MailOperationOptions } from '../../src/providers/mail-operation.js';
import type { Mail, MailResult } from '../../src/providers/smtp-transport.js';
import { parseParams } from '../../src/operations/parse-params.js';
import { isEnabled, prepareOnce, rulesOf } from '../../src/operations/ask-definition.js';
import { startDeadline } from '../../src/operations/deadline.js';

const PARAMS = {
  template: 'order_paid',
  to: 'ada@example.com',
  orderId: 'o1',
  amountMinor: '4200',
  currency: 'usd',
} satisfies EmailParams;

function email(
  policy: EmailPolicy = 'resend',
  send?: (mail: Mail) => Promise<MailResult>,
  templates: Partial<EmailTemplates> = {},
) {
  return emailOperation({
    transport: { send: send ?? (() => Promise.resolve({ kind: 'accepted' })) },
    from: 'The Shop <shop@shop.example>',
    policies: { orderPaid: policy, refundSucceeded: policy, refundFailed: policy },
    templates,
    giveUpAfterMs: 1_000,
  });
}

function contextOf(params: Readonly<Record<string, unknown>> = {}): OperationContext<unknown> {
  return {
    operationKey: 'email:order-paid:t1:o1',
    idempotencyKey: 'oncehook:00:1',
    tenant: 't1',
    params: { ...PARAMS, ...params },
    createdAt: new Date('2026-01-02T03:04:05Z'),
    event: null,
  };
}

async function prepared(
  params: Readonly<Record<string, unknown>> = {},
  definition = email(),
): Promise<{ bytes: Buffer; messageId: string }> {
  const deadline = startDeadline(5_000, 0);
  const message = await prepareOnce(definition, contextOf(params), deadline).finally(deadline.release);
  if (message === null || !('bytes' in message)) throw new Error(`not prepared: ${JSON.stringify(message)}`);
  return message;
}

/** The header lines of a message, unfolded. */
function headersOf(bytes: Buffer): readonly string[] {
  const [head = ''] = bytes.toString('latin1').split('\r\n\r\n');
  return head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
}

describe('an email', () => {
  test('is built to the same bytes every time', async () => {
    const [one, other] = [await prepared(), await prepared()];
    expect(one.bytes.equals(other.bytes)).toBe(true);
    expect(one.messageId).toBe(other.messageId);
  });

  test('has the headers that it should and no others', async () => {
    const { bytes, messageId } = await prepared();
    const headers = headersOf(bytes);
    expect(messageId).toMatch(/^<[0-9a-f]{40}@shop\.example>$/);
    expect(headers).toContain('From: The Shop <shop@shop.example>');
    expect(headers).toContain('To: ada@example.com');
    expect(headers).toContain('Subject: Order o1: payment received');
    expect(headers).toContain(`Message-ID: ${messageId}`);
    expect(headers).toContain('Date: Fri, 02 Jan 2026 03:04:05 +0000');
    expect(headers).toContain('Auto-Submitted: auto-generated');
    expect(headers.map((header) => header.split(':')[0]).sort()).toEqual([
      'Auto-Submitted', 'Content-Type', 'Date', 'From', 'MIME-Version', 'Message-ID', 'Subject', 'To',
    ]); // prettier-ignore
  });

  test('says the amount in its own currency, as text and as HTML', async () => {
    const { bytes } = await prepared({ amountMinor: '5000', currency: 'jpy' });
    expect(bytes.toString('latin1').match(/payment of 5000 JPY for order o1/g)).toHaveLength(2);
    expect((await prepared()).bytes.toString('latin1')).toContain('42.00 USD');
    expect((await prepared({ amountMinor: 4200 })).bytes.toString('latin1')).toContain('42.00 USD');
  });

  test('shows a hostile order ID without obeying it', async () => {
    const { bytes } = await prepared({ orderId: 'o1\r\nBcc: victim@example.com\r\n\r\n<script>alert(1)</script>' });
    const text = bytes.toString('latin1');
    expect(headersOf(bytes).filter((header) => /^bcc/i.test(header))).toEqual([]);
    expect(text).not.toMatch(/^bcc:/im);
    // Quoted-printable may break a line, not a tag's bracket.
    const html = text.slice(text.indexOf('text/html')).replaceAll('=\r\n', '');
    expect(html).not.toContain('<script>');
    expect(html).toContain('&lt;script&gt;');
  });

  test.each(['\u202egnp.exe', 'a\u0000b', 'a\u2028b', 'a\ud800b', 'a\u0085b'])(
    'shows %j by a mark',
    async (orderId) => {
      const { bytes } = await prepared({ orderId });
      const encoded = /^Subject: (.*)$/m.exec(headersOf(bytes).join('\n'))?.[1] ?? '';
      expect(encoded).toMatch(/=\?UTF-8\?Q\?.*=EF=BF=BD/i);
    },
  );

  test.each(['a@example.com, victim@example.com', '"victim@example.net x"@example.com', 'root@localhost', ''])(
    'to %j is refused before anything is built',
    async (to) => {
      const deadline = startDeadline(5_000, 0);
      const answer = await prepareOnce(email(), contextOf({ to }), deadline).finally(deadline.release);
      expect(answer).toEqual({ kind: 'refused', code: 'invalid_recipient' });
    },
  );

  test('takes the parameters that a handler may give and no others', async () => {
    const kindOf = async (value: unknown): Promise<string> => (await parseParams(email(), value)).kind;
    expect(await kindOf(PARAMS)).toBe('ok');
    expect(await kindOf({ ...PARAMS, amountMinor: 4200 })).toBe('ok');
    // A customer's address never undoes the payment, however bad.
    expect(await kindOf({ ...PARAMS, to: 'a@example.com>\r\nRCPT TO:<victim@example.com' })).toBe('ok');
    for (const bad of [
      { ...PARAMS, template: 'other' },
      { ...PARAMS, template: 'constructor' },
      { ...PARAMS, amountMinor: 42.5 },
      { ...PARAMS, amountMinor: -1 },
      { ...PARAMS, amountMinor: '1e3' },
      { ...PARAMS, currency: 'USD' },
      { ...PARAMS, orderId: '' },
      { ...PARAMS, to: null },
      null,
    ]) {
      expect(await kindOf(bad)).toBe('invalid');
    }
  });

  test('follows its policy', () => {
    expect(rulesOf(email('resend'), PARAMS)).toEqual({ policy: 'resend', keyTtlMs: 0, giveUpAfterMs: 1_000 });
    expect(rulesOf(email('hold'), PARAMS).policy).toBe('hold');
    expect(isEnabled(email('hold'), PARAMS)).toBe(true);
    expect(isEnabled(email('off'), PARAMS)).toBe(false);
    expect(rulesOf(email('off'), PARAMS).policy).toBe('hold');
  });

  test('goes to one recipient, from the address alone, with the stored bytes', async () => {
    const mails: Mail[] = [];
    const definition = email('hold', (mail) => {
      mails.push(mail);
      return Promise.resolve({ kind: 'accepted' });
    });
    const message = { bytes: Buffer.from('stored'), messageId: '<1@shop.example>' };
    const signal = new AbortController().signal;
    const answer = await definition.perform({ ...contextOf(), message, firstSentAt: new Date(), signal });
    expect(answer).toEqual({ kind: 'confirmed' });
    expect(mails).toEqual([{ from: 'shop@shop.example', to: 'ada@example.com', bytes: message.bytes, signal }]);
  });

  test('without its stored message is a human matter', async () => {
    const attempt = { ...contextOf(), message: null, firstSentAt: new Date(), signal: new AbortController().signal };
    expect(await email().perform(attempt)).toEqual({ kind: 'park', code: 'message_missing' });
  });

  test('refuses a sender that is not one address', () => {
    expect(() =>
      emailOperation({
        transport: { send: () => Promise.resolve({ kind: 'accepted' }) },
        from: 'a@example.com, b@example.com',
        policies: { orderPaid: 'hold', refundSucceeded: 'hold', refundFailed: 'hold' },
        giveUpAfterMs: 1,
      }),
    ).toThrow(TypeError);
  });
});

describe('mails about refunds', () => {
  const refund = { refundId: 're_1', amountMinor: 1234, currency: 'kwd', orderId: 'o1' };
  test.each([
    ['refund_succeeded', 'Order o1: refund', 'We have refunded 1.234 KWD for order o1.'],
    ['refund_failed', 'Order o1: a refund of 1.234 KWD failed', 'The refund re_1 of 1.234 KWD for order o1 failed'],
  ])('%s says what happened, in text and HTML', async (template, subject, says) => {
    const { bytes } = await prepared({ ...refund, template });
    expect(headersOf(bytes)).toContain(`Subject: ${subject}`);
    expect(bytes.toString().replaceAll('=\r\n', '').split(says)).toHaveLength(3);
  });

  test('need the refund they are about', async () => {
    const params = { ...PARAMS, template: 'refund_failed' };
    expect(await parseParams(email(), params)).toMatchObject({ kind: 'invalid' });
    expect(await parseParams(email(), { ...params, refundId: 're_1' })).toMatchObject({ kind: 'ok' });
  });

  test('are switched by their own policies', () => {
    const only = emailOperation({
      transport: { send: () => Promise.resolve({ kind: 'accepted' }) },
      from: 'shop@shop.example',
      policies: { orderPaid: 'resend', refundSucceeded: 'off', refundFailed: 'hold' },
      giveUpAfterMs: 1,
    });
    expect(only.enabled?.({ ...PARAMS, template: 'refund_succeeded' })).toBe(false);
    expect(only.enabled?.({ ...PARAMS, template: 'refund_failed' })).toBe(true);
  });
});

describe('a template of one’s own', () => {
  test('replaces the built-in one, and cannot add a header', async () => {
    const own = email('resend', undefined, {
      orderPaid: ({ orderId, amount }) => ({
        subject: `Merci\r\nBcc: eve@example.com ${orderId}`,
        text: `Payé : ${amount}\n`,
        html: `<p>Payé : ${amount}</p>`,
      }),
    });
    const { bytes } = await prepared({}, own);
    expect(headersOf(bytes).some((line) => line.startsWith('Bcc:'))).toBe(false);
    expect(bytes.toString()).toContain('<p>Pay=C3=A9 : 42.00 USD</p>');
    const refund = await prepared({ template: 'refund_succeeded', refundId: 're_1' }, own);
    expect(refund.bytes.toString()).toContain('We have refunded 42.00 USD');
  });
});

describe('a mail of one’s own', () => {
  const reminder = (changes: Partial<MailOperationOptions<{ readonly to: string; readonly at: string }>> = {}) =>
    mailOperation({
      kind: 'reminder_mail',
      params: z.object({ to: z.string(), at: z.string() }),
      transport: { send: () => Promise.resolve({ kind: 'accepted' }) },
      from: 'shop@shop.example',
      to: ({ to }) => to,
      content: ({ at }) => ({ subject: `Tomorrow\r\nBcc: eve@example.com`, text: `At ${at}.\n`, html: `<p>${at}</p>` }),
      ...changes,
    });
  const contents = { to: 'ada@example.com', at: '9:30' };

  test('says what its content says, under its own name, and cannot add a header', async () => {
    expect(reminder().kind).toBe('reminder_mail');
    const { bytes } = await prepared(contents, reminder());
    expect(bytes.toString()).toContain('At 9:30.');
    expect(headersOf(bytes).filter((line) => line.startsWith('Bcc'))).toEqual([]);
  });

  test('is sent again by default, for three days, and otherwise as its policy says', () => {
    expect(rulesOf(reminder(), contents)).toEqual({ policy: 'resend', keyTtlMs: 0, giveUpAfterMs: 3 * 86_400_000 });
    expect(rulesOf(reminder({ policy: 'hold' }), contents).policy).toBe('hold');
    const byParams = reminder({ policy: ({ at }) => (at === '9:30' ? 'off' : 'resend') });
    expect([isEnabled(byParams, contents), isEnabled(byParams, { ...contents, at: '10' })]).toEqual([false, true]);
  });

  test.each([
    ['a bad address', { to: 'ada@example.com, eve@example.com' }, {}, { kind: 'refused', code: 'invalid_recipient' }],
    [
      'content that throws',
      {},
      {
        content: () => {
          throw new Error('no such template');
        },
      },
      { kind: 'park', code: 'prepare_failed' },
    ],
  ])('%s is sent to nobody', async (_what, params, changes, answer) => {
    const deadline = startDeadline(5_000, 0);
    const context = contextOf({ ...contents, ...params });
    expect(await prepareOnce(reminder(changes), context, deadline).finally(deadline.release)).toEqual(answer);
  });
});

describe('the mails of orders under another name', () => {
  test('are sent again by default, each unless a policy names it', () => {
    const { send } = { send: () => Promise.resolve({ kind: 'accepted' } as const) };
    const own = emailOperation({
      kind: 'shop_mail',
      transport: { send },
      from: 'shop@shop.example',
      policies: { refundFailed: 'off' },
    });
    expect(own.kind).toBe('shop_mail');
    expect(rulesOf(own, PARAMS).policy).toBe('resend');
    expect(isEnabled(own, { ...PARAMS, template: 'refund_failed', refundId: 're_1' })).toBe(false);
  });
});

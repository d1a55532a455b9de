import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CheckpointName } from '../../src/checkpoints.js';
import { operationKey, type AnyOperationDefinition } from '../../src/index.js';
import { emailOperation, type EmailParams } from '../../src/providers/email.js';
import type { EmailPolicy } from '../../src/providers/mail-operation.js';
import { createSmtpTransport } from '../../src/providers/smtp-transport.js';
import { openOperationsBench, type OperationsBench, type PerformOptions } from '../support/operations-bench.js';
import { attemptUntilSettled, deathAt, type Attempt } from '../support/settle-attempts.js';
import { startSmtpSink, type SinkBehaviour, type SmtpSink } from '../support/smtp-sink.js';
import { until } from '../support/until.js';
import { hostileBodies } from '../support/vectors.js';

const KEY = operationKey('email', 'order-paid', 't1', 'o1');
const PARAMS: EmailParams = {
  template: 'order_paid',
  to: 'ada@example.com',
  orderId: 'o1',
  amountMinor: '4200',
  currency: 'usd',
};
const HOUR_MS = 3_600_000;

let bench: OperationsBench;
let folder: string;
let sink: SmtpSink;

beforeAll(async () => {
  bench = await openOperationsBench();
});
afterAll(() => bench.close());
beforeEach(async () => {
  await bench.pool.query('truncate oncehook.operations');
  folder = mkdtempSync(join(tmpdir(), 'oncehook-mail-'));
  sink = await startSmtpSink(join(folder, 'ledger'));
});
afterEach(async () => {
  await sink.kill();
  rmSync(folder, { recursive: true, force: true });
});

function email(policy: EmailPolicy, url = sink.url): AnyOperationDefinition {
  return emailOperation({
    transport: createSmtpTransport(url),
    from: 'The Shop <shop@shop.example>',
    policies: { orderPaid: policy, refundSucceeded: policy, refundFailed: policy },
    giveUpAfterMs: 72 * HOUR_MS,
  });
}

async function planned(
  definition: AnyOperationDefinition,
  options: Omit<PerformOptions, 'definitions'> = {},
  params: Partial<EmailParams> = {},
): Promise<Attempt> {
  await bench.plan([{ kind: 'email', key: KEY, params: { ...PARAMS, ...params } }], { definitions: [definition] });
  const perform = bench.performer({ ...options, definitions: [definition] });
  return () => perform({ operationKey: KEY });
}

function untilSettled(attempt: Attempt): Promise<string> {
  return attemptUntilSettled(bench, KEY, attempt);
}

/** However many copies there are, they are the same message to the same recipient. */
function expectOneMessage(): void {
  const mails = sink.accepted();
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBeLessThanOrEqual(1);
  expect(new Set(mails.map(({ sha256 }) => sha256)).size).toBeLessThanOrEqual(1);
  for (const mail of mails) expect(mail.to).toEqual(['ada@example.com']);
}

describe('a mail', () => {
  test('is sent once, with the bytes that are stored', async () => {
    const attempt = await planned(email('resend'));
    expect(await untilSettled(attempt)).toBe('confirmed');
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    const row = await bench.read(KEY);
    expect(sink.accepted()).toEqual([
      expect.objectContaining({
        to: ['ada@example.com'],
        from: 'shop@shop.example',
        messageId: row.message_id,
        content: row.message?.toString('latin1'),
      }),
    ]);
  });

  test('that is off is not planned', async () => {
    const definition = email('off');
    const operation = { kind: 'email', key: KEY, params: PARAMS };
    expect(await bench.plan([operation], { definitions: [definition] })).toEqual({ kind: 'planned', operations: [] });
  });

  test.each<[string, SinkBehaviour[], number]>([
    ['refused connections (M1)', ['cut-at-once', 'cut-at-once'], 2],
    ['a busy server (M1)', ['greet:421', 'greet:421'], 2],
    ['greylisting (M1)', ['rcpt:450', 'rcpt:450'], 2],
    ['two temporary refusals of the message', ['end:451', 'end:451'], 2],
    ['a rejected password (M1)', ['auth:535'], 1],
    ['a server that will not do without login', ['mail:530'], 1],
    ['a connection lost before the content (M2)', ['cut-in-envelope'], 1],
  ])('survives %s under either policy, and is accepted exactly once', async (_what, script, failures) => {
    for (const policy of ['hold', 'resend'] as const) {
      await bench.pool.query('truncate oncehook.operations');
      const before = sink.accepted().length;
      await sink.script(...script, 'offer-auth');
      const url = `smtp://shop:hunter2@127.0.0.1:${sink.port}?requireTLS=false`;
      const attempt = await planned(email(policy, script[0] === 'auth:535' ? url : sink.url));
      for (let failure = 0; failure < failures; failure += 1) {
        expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
      }
      expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
      expect(sink.accepted().length - before).toBe(1);
    }
  });

  test('waits for a server that demands TLS be there, and never goes out in clear (M1)', async () => {
    const log: string[] = [];
    const attempt = await planned(email('resend', `${sink.url}?requireTLS=true`), { log });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'smtp_tls' });
    expect(JSON.parse(log[0] ?? '')).toMatchObject({ level: 'error', code: 'smtp_tls' });
    await until('the session is in the ledger', () => sink.sessions().length > 0);
    expect(sink.sessions().flatMap(({ commands }) => commands.map((command) => command.split(' ')[0]))).toEqual([
      'EHLO',
      'STARTTLS',
    ]);
  });

  test.each<SinkBehaviour>(['rcpt:550', 'mail:553', 'end:554', 'small:10'])(
    'that is refused for good (%s) is not tried again (M5)',
    async (behaviour) => {
      await sink.script(behaviour);
      const attempt = await planned(email('resend'));
      expect(await untilSettled(attempt)).toBe('refused');
      await attempt();
      await attempt();
      await until('the session is in the ledger', () => sink.sessions().length > 0);
      expect(sink.sessions()).toHaveLength(1);
      expect(sink.accepted()).toEqual([]);
    },
  );

  test('waits out a server that is down, for as long as it may', async () => {
    const { port } = sink;
    await sink.kill();
    const attempt = await planned(email('hold'));
    for (let round = 0; round < 5; round += 1) {
      expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    }
    sink = await startSmtpSink(join(folder, 'ledger'), port);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(sink.accepted()).toHaveLength(1);
  });

  test('is given up after its time, and not before', async () => {
    const { port } = sink;
    await sink.kill();
    const attempt = await planned(email('resend', `smtp://127.0.0.1:${port}`));
    await attempt();
    await bench.age(KEY, 71 * HOUR_MS);
    expect(await attempt()).toMatchObject({ kind: 'again' });
    await bench.age(KEY, HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'refused' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'gave_up' });
  });

  test('with no words of the server and no address in rows and logs', async () => {
    const log: string[] = [];
    await sink.script('rcpt:450', 'end:451', 'end:554');
    const attempt = await planned(email('resend'), { log });
    expect(await untilSettled(attempt)).toBe('refused');
    expect(log).toHaveLength(3);
    expect(log.join('')).not.toMatch(/ada@example|example\.com|no$|42\.00/m);
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'smtp_554' });
  });
});

describe('an answer that is lost', () => {
  test.each<[string, SinkBehaviour, number]>([
    // [what happened, how the sink does it, copies accepted by then]
    ['cut after the dot, not accepted (M2)', 'cut-after-dot', 0],
    ['accepted, cut before the 250 (M3)', 'accept-then-cut', 1],
    ['accepted, and then silence (M5)', 'accept-then-silent', 1],
    ['half a reply', 'torn-reply:451', 0],
  ])('%s: hold sends no second copy and asks an operator', async (_what, behaviour, accepted) => {
    await sink.script(behaviour);
    const attempt = await planned(email('hold'), { limits: { attemptMs: 2_500 } });
    expect(await untilSettled(attempt)).toBe('parked');
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(sink.accepted()).toHaveLength(accepted);
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'outcome_unknown' });
  });

  test.each<[string, SinkBehaviour, number]>([
    ['cut after the dot, not accepted (M2)', 'cut-after-dot', 1],
    ['accepted, cut before the 250 (M3)', 'accept-then-cut', 2],
    ['accepted, and then silence (M5)', 'accept-then-silent', 2],
    ['half a reply', 'torn-reply:451', 1],
  ])('%s: resend sends the same bytes under the same Message-ID', async (_what, behaviour, accepted) => {
    await sink.script(behaviour);
    const attempt = await planned(email('resend'), { limits: { attemptMs: 2_500 } });
    expect(await untilSettled(attempt)).toBe('confirmed');
    expect(sink.accepted()).toHaveLength(accepted);
    expectOneMessage();
  });

  test.each<[EmailPolicy, CheckpointName, string, number]>([
    ['hold', 'operation.before-intent', 'confirmed', 1],
    ['hold', 'operation.intent-stored', 'parked', 0],
    ['hold', 'operation.answered', 'parked', 1],
    ['hold', 'operation.answer-stored', 'confirmed', 1],
    ['resend', 'operation.before-intent', 'confirmed', 1],
    ['resend', 'operation.intent-stored', 'confirmed', 1],
    ['resend', 'operation.answered', 'confirmed', 2],
    ['resend', 'operation.answer-stored', 'confirmed', 1],
  ])('%s, died at %s (M4): %s, accepted %i', async (policy, point, status, accepted) => {
    const attempt = await planned(email(policy), { checkpoints: deathAt(point) });
    expect(await untilSettled(attempt)).toBe(status);
    expect(sink.accepted()).toHaveLength(accepted);
    expectOneMessage();
  });

  test('and then a refusal: what the lost attempt did stays unknown', async () => {
    await sink.script('accept-then-cut', 'rcpt:550');
    const attempt = await planned(email('resend'));
    expect(await untilSettled(attempt)).toBe('parked');
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'outcome_unknown' });
  });

  test('always: resend stops after eight copies', async () => {
    await sink.script(...Array<SinkBehaviour>(20).fill('accept-then-cut'));
    const attempt = await planned(email('resend'));
    expect(await untilSettled(attempt)).toBe('parked');
    expect(sink.accepted()).toHaveLength(8);
    expectOneMessage();
  });
});

describe('two attempts at once', () => {
  test.each<[EmailPolicy]>([['hold'], ['resend']])('%s: eight healthy ones are one mail', async (policy) => {
    const attempt = await planned(email(policy));
    await Promise.all(Array.from({ length: 8 }, () => attempt()));
    expect(await untilSettled(attempt)).toBe('confirmed');
    expect(sink.accepted()).toHaveLength(1);
  });
});

describe('hostile texts', () => {
  const injections = hostileBodies().filter(({ group }) => group === 'mail-injection');

  test('are all there', () => {
    expect(injections.map(({ name }) => name).sort()).toEqual([
      'email-crlf-rcpt',
      'email-route-comment',
      'email-two-recipients',
      'order-id-crlf-in-mail',
    ]);
  });

  test.each(injections.map(({ name, body }) => [name, body ?? '']))(
    '%s: one recipient and no header of theirs, or a refusal',
    async (_name, body) => {
      const event = JSON.parse(body) as {
        receipt_email?: string;
        data: { object: { metadata: { order_id: string } } };
      };
      const params = { to: event.receipt_email ?? PARAMS.to, orderId: event.data.object.metadata.order_id };
      const attempt = await planned(email('resend'), {}, params);
      const status = await untilSettled(attempt);
      if (event.receipt_email !== undefined) {
        expect(status).toBe('refused');
        expect(await bench.read(KEY)).toMatchObject({ last_error: 'invalid_recipient', message: null });
        expect(existsSync(join(folder, 'ledger')) && sink.sessions()).toEqual([]);
        return;
      }
      expect(status).toBe('confirmed');
      expect(sink.accepted()).toHaveLength(1);
      const [mail] = sink.accepted();
      expect(mail?.to).toEqual(['ada@example.com']);
      expect(mail?.content).not.toMatch(/^bcc:/im);
    },
  );
});

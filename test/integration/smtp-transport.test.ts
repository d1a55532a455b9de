import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSmtpTransport, type MailResult } from '../../src/providers/smtp-transport.js';
import { startSmtpSink, type SinkBehaviour, type SmtpSink } from '../support/smtp-sink.js';
import { until } from '../support/until.js';

let folder: string;
let sink: SmtpSink;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oncehook-smtp-'));
  sink = await startSmtpSink(join(folder, 'ledger'));
});

afterAll(async () => {
  await sink.kill();
  rmSync(folder, { recursive: true, force: true });
});

interface Sent {
  readonly result: MailResult;
  readonly acceptedMore: number;
  readonly commands: readonly string[];
}

const SMALL = Buffer.from('Subject: hello\r\nMessage-ID: <1@shop.example>\r\n\r\n.a dot first\r\n');

async function send(
  behaviour: SinkBehaviour,
  options: { url?: string; bytes?: Buffer; abortMs?: number } = {},
): Promise<Sent> {
  await sink.script(behaviour);
  const before = { accepted: sink.accepted().length, sessions: sink.sessions().length };
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort();
  }, options.abortMs ?? 8_000);
  const result = await createSmtpTransport(options.url ?? sink.url).send({
    from: 'shop@shop.example',
    to: 'ada@example.com',
    bytes: options.bytes ?? SMALL,
    signal: controller.signal,
  });
  clearTimeout(timer);
  // The sink notes a session when it has seen its end.
  await until('the session is in the ledger', () => sink.sessions().length > before.sessions);
  const sessions = sink.sessions().slice(before.sessions);
  expect(sessions, 'nothing tries twice').toHaveLength(1);
  return {
    result,
    acceptedMore: sink.accepted().length - before.accepted,
    commands: sessions[0]?.commands ?? [],
  };
}

describe('one SMTP session', () => {
  test('delivers the exact bytes to exactly one recipient', async () => {
    const { result, acceptedMore, commands } = await send('accept');
    expect(result).toEqual({ kind: 'accepted' });
    expect(acceptedMore).toBe(1);
    expect(sink.accepted().at(-1)).toMatchObject({
      from: 'shop@shop.example',
      to: ['ada@example.com'],
      content: SMALL.toString('latin1'),
    });
    expect(commands.filter((command) => command.startsWith('RCPT'))).toEqual(['RCPT TO:<ada@example.com>']);
  });

  test('delivers a message of many chunks whole', async () => {
    const bytes = Buffer.from(`Subject: big\r\n\r\n${'x'.repeat(70)}\r\n`.repeat(5_000));
    expect((await send('accept', { bytes })).result).toEqual({ kind: 'accepted' });
    expect(sink.accepted().at(-1)?.content).toBe(bytes.toString('latin1'));
  });

  test.each<[SinkBehaviour, Partial<Extract<MailResult, { kind: 'failed' }>>]>([
    ['cut-at-once', { phase: 'connecting' }],
    ['greet:421', { phase: 'connecting', replyCode: 421 }],
    ['greet:554', { phase: 'connecting', replyCode: 554 }],
    ['mail:451', { phase: 'envelope', replyCode: 451 }],
    ['rcpt:450', { phase: 'envelope', replyCode: 450 }],
    ['rcpt:550', { phase: 'envelope', replyCode: 550 }],
    ['cut-in-envelope', { phase: 'envelope', replyCode: null }],
    ['data:421', { phase: 'envelope', replyCode: 421 }],
    ['data:554', { phase: 'envelope', replyCode: 554 }],
    ['small:10', { phase: 'envelope', replyCode: null, errorCode: 'EMESSAGE' }],
    ['end:451', { phase: 'ended', replyCode: 451 }],
    ['end:421', { phase: 'ended', replyCode: 421 }],
    ['end:552', { phase: 'ended', replyCode: 552 }],
    ['cut-after-dot', { phase: 'ended', replyCode: null }],
    ['torn-reply:451', { phase: 'ended', replyCode: null }],
  ])('%s: not accepted, and it knows how far it came', async (behaviour, failure) => {
    const { result, acceptedMore } = await send(behaviour);
    expect(result).toMatchObject({ kind: 'failed', ...failure });
    expect(acceptedMore).toBe(0);
  });

  test('a connection lost before the final dot is told from one lost after it', async () => {
    // More than the sockets can hold, so that the end is still to be written when the sink goes away.
    const bytes = Buffer.alloc(24_000_000, 'x'.repeat(70) + '\r\n');
    const { result, acceptedMore } = await send('cut-in-content', { bytes });
    expect(result).toMatchObject({ kind: 'failed', phase: 'content', replyCode: null });
    expect(acceptedMore).toBe(0);
  });

  test('an answer lost after the message was accepted is not taken for anything else', async () => {
    const { result, acceptedMore } = await send('accept-then-cut');
    expect(result).toMatchObject({ kind: 'failed', phase: 'ended', replyCode: null });
    expect(acceptedMore).toBe(1);
  });

  test('an acceptance before the end of the message is not believed', async () => {
    const bytes = Buffer.alloc(24_000_000, 'x'.repeat(70) + '\r\n');
    const { result } = await send('accept-early', { bytes });
    expect(result).toMatchObject({ kind: 'failed', phase: 'ended', errorCode: 'EPROTOCOL', replyCode: null });
  });

  test.each<[SinkBehaviour, string, Buffer | undefined]>([
    ['greet-silent', 'connecting', undefined],
    ['hang-in-content', 'content', Buffer.alloc(24_000_000, 'x'.repeat(70) + '\r\n')],
    ['accept-then-silent', 'ended', undefined],
  ])('%s: an abort ends it at once, in its phase', async (behaviour, phase, bytes) => {
    const started = performance.now();
    const { result } = await send(behaviour, { abortMs: 1_500, ...(bytes === undefined ? {} : { bytes }) });
    expect(result).toEqual({ kind: 'failed', phase, errorCode: 'ABORTED', replyCode: null });
    expect(performance.now() - started).toBeLessThan(6_000);
  });

  test('aborted before it began, it does not begin', async () => {
    const before = sink.sessions().length;
    const result = await createSmtpTransport(sink.url).send({
      from: 'shop@shop.example',
      to: 'ada@example.com',
      bytes: SMALL,
      signal: AbortSignal.abort(),
    });
    expect(result).toMatchObject({ phase: 'connecting', errorCode: 'ABORTED' });
    expect(sink.sessions()).toHaveLength(before);
  });

  test('nobody listens', async () => {
    const port = await closedPort();
    const result = await createSmtpTransport(`smtp://127.0.0.1:${port}`).send({
      from: 'shop@shop.example',
      to: 'ada@example.com',
      bytes: SMALL,
      signal: new AbortController().signal,
    });
    expect(result).toMatchObject({ kind: 'failed', phase: 'connecting', errorCode: 'ESOCKET' });
  });
});

describe('a login', () => {
  const withPassword = (): string => `smtp://shop:hunter2@127.0.0.1:${sink.port}?requireTLS=false`;

  test('that is accepted goes on to the message', async () => {
    const { result, commands } = await send('offer-auth', { url: withPassword() });
    expect(result).toEqual({ kind: 'accepted' });
    expect(commands.some((command) => command.startsWith('AUTH PLAIN'))).toBe(true);
  });

  test.each<[SinkBehaviour, number]>([
    ['auth:535', 535],
    ['auth:454', 454],
  ])('%s ends it before the message', async (behaviour, replyCode) => {
    const { result, commands } = await send(behaviour, { url: withPassword() });
    expect(result).toMatchObject({ phase: 'logging_in', errorCode: 'EAUTH', replyCode });
    expect(commands.some((command) => command.startsWith('MAIL'))).toBe(false);
  });

  test('that is configured and not offered is not skipped', async () => {
    const { result, commands } = await send('accept', { url: withPassword() });
    expect(result).toMatchObject({ phase: 'logging_in', errorCode: 'NO_AUTH' });
    expect(commands.some((command) => command.startsWith('MAIL'))).toBe(false);
  });
});

describe('TLS', () => {
  test.each(['?requireTLS=true', 'credentials'])('that is required and missing stops everything (%s)', async (how) => {
    const url = how === 'credentials' ? `smtp://shop:hunter2@127.0.0.1:${sink.port}` : `${sink.url}${how}`;
    const { result, commands, acceptedMore } = await send('offer-auth', { url });
    expect(result).toMatchObject({ phase: 'connecting', errorCode: 'ETLS' });
    expect(commands.filter((command) => !/^(EHLO|STARTTLS)/.test(command))).toEqual([]);
    expect(acceptedMore).toBe(0);
  });

  test('is used when offered, and its certificate is checked', async () => {
    await withTlsServer({}, async (port, received) => {
      expect(await sendTo(`smtp://127.0.0.1:${port}?requireTLS=true`)).toMatchObject({ errorCode: 'ETLS' });
      expect(await sendTo(`smtp://127.0.0.1:${port}`)).toMatchObject({ errorCode: 'ETLS' });
      expect(received).toEqual([]);
      const trusting = `smtp://127.0.0.1:${port}?requireTLS=true&tls.rejectUnauthorized=false`;
      expect(await sendTo(trusting)).toEqual({ kind: 'accepted' });
      expect(received).toEqual([{ secure: true }]);
    });
  });

  test('from the first byte with smtps', async () => {
    await withTlsServer({ secure: true }, async (port, received) => {
      expect(await sendTo(`smtps://127.0.0.1:${port}`)).toMatchObject({ phase: 'connecting' });
      expect(received).toEqual([]);
      const trusting = `smtps://127.0.0.1:${port}?tls.rejectUnauthorized=false`;
      expect(await sendTo(trusting)).toEqual({ kind: 'accepted' });
      expect(received).toEqual([{ secure: true }]);
    });
  });

  /** smtp-server brings a self-signed certificate of its own. */
  async function withTlsServer(
    options: SMTPServerOptions,
    body: (port: number, received: readonly object[]) => Promise<void>,
  ): Promise<void> {
    const received: object[] = [];
    const server = new SMTPServer({
      ...options,
      authOptional: true,
      onData(stream, session, done) {
        stream.resume().on('end', () => {
          received.push({ secure: session.secure });
          done();
        });
      },
    });
    // A client that refuses the certificate is an error to the server.
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no port');
    try {
      await body(address.port, received);
    } finally {
      await new Promise<void>((resolve) => {
        server.close(resolve);
      });
    }
  }

  function sendTo(url: string): Promise<MailResult> {
    const signal = new AbortController().signal;
    return createSmtpTransport(url).send({ from: 'shop@shop.example', to: 'ada@example.com', bytes: SMALL, signal });
  }
});

/** A port that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { SMTPServer } from 'smtp-server';
import { DevStackError } from '../errors.js';
import { isErrno } from './errno.js';

export interface MailSink {
  /** For SMTP_URL. */
  readonly url: string;
  /** The folder with the messages. */
  readonly dir: string;
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/**
 * A mail server that delivers nothing: each message becomes a file `<n>-<hash of its Message-ID>.eml` in `dir`, on the disk before
 * the sender hears 250. A message that is sent again is kept again, so that the folder shows what a mailbox would.
 */
export async function startMailSink({ dir, port }: { readonly dir: string; readonly port: number }): Promise<MailSink> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  let last = highestNumber(dir);
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true, // no name server on the way of a local message
    size: MAX_MESSAGE_BYTES,
    closeTimeout: 1000, // for clients that stay connected after their last message
    onData: (stream, _session, answer) => {
      readMessage(stream)
        .then((message) => keep(dir, ++last, message))
        .then(() => {
          answer();
        }, answer);
    },
  });
  server.on('error', () => undefined); // a client that hangs up; its own side reports it
  const listening = once(server.server, 'listening');
  server.listen(port, LOOPBACK);
  await listening.catch((error: unknown) => {
    if (!isErrno(error, 'EADDRINUSE')) throw error;
    throw new DevStackError(`Port ${port}, wanted for the mail sink, is in use: stop what listens there.`);
  });
  return {
    url: `smtp://${LOOPBACK}:${port}`,
    dir,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
      }),
  };
}

async function readMessage(stream: Readable & { readonly sizeExceeded: boolean }): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) if (!stream.sizeExceeded) chunks.push(chunk);
  if (stream.sizeExceeded) throw Object.assign(new Error('Message too large'), { responseCode: 552 });
  return Buffer.concat(chunks);
}

/** Under its final name only when all of it is on the disk. */
async function keep(dir: string, number: number, message: Buffer): Promise<void> {
  const hash = createHash('sha256').update(messageId(message)).digest('hex').slice(0, 12);
  const name = `${String(number).padStart(6, '0')}-${hash}.eml`;
  const draft = join(dir, `.${name}`);
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(message);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(dir, name));
  const folder = await open(dir, 'r');
  await folder.sync().finally(() => folder.close()); // the rename itself
}

/** Empty when it has none; a header may be folded over lines. */
function messageId(message: Buffer): string {
  const text = message.toString('latin1');
  const headers = text.slice(0, Math.max(text.indexOf('\r\n\r\n'), 0)).replace(/\r\n[ \t]+/g, ' ');
  return /^message-id:\s*(\S+)/im.exec(headers)?.[1] ?? '';
}

function highestNumber(dir: string): number {
  const numbers = readdirSync(dir).map((name) => Number(/^(\d+)-.*\.eml$/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...numbers);
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startMailSink, type MailSink } from '../../src/dev/mail-sink.js';
import { freePort } from '../../src/dev/ports.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

let base: string;
let sink: MailSink;

beforeEach(async () => {
  base = openTempDir();
  sink = await startMailSink({ dir: join(base, 'mail'), port: await freePort() });
});

afterEach(async () => {
  await sink.stop();
  removeDir(base);
});

const FROM_TO = { from: 'shop@example.com', to: 'jenny@example.com' };

function message(id: string, text = 'Thank you.'): string {
  return `From: shop@example.com\r\nMessage-ID:\r\n <${id}@example.com>\r\nSubject: Paid\r\n\r\n${text}\r\n.leading dot\r\n`;
}

async function send(raw: string): Promise<string> {
  const { response } = await createTransport(sink.url).sendMail({ envelope: FROM_TO, raw });
  return response;
}

function kept(): string[] {
  return readdirSync(sink.dir).sort();
}

test('keeps the exact bytes of a message, under a number and a hash of its Message-ID, by the time it says 250', async () => {
  expect(await send(message('one'))).toMatch(/^250 /);
  expect(kept()).toEqual([expect.stringMatching(/^000001-[0-9a-f]{12}\.eml$/)]);
  expect(readFileSync(join(sink.dir, kept()[0]!), 'utf8')).toBe(message('one'));
});

test('keeps a message that is sent again as a second file with the same hash', async () => {
  await send(message('one'));
  await send(message('one'));
  await send(message('two'));
  const [first, again, other] = kept().map((name) => name.split('-')[1]);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

test('goes on counting after a restart', async () => {
  await send(message('one'));
  await sink.stop();
  sink = await startMailSink({ dir: sink.dir, port: await freePort() });
  await send(message('two'));
  expect(kept().map((name) => name.slice(0, 6))).toEqual(['000001', '000002']);
});

test('refuses what is over ten megabytes and keeps nothing of it', async () => {
  await expect(send(message('big', 'x'.repeat(11_000_000)))).rejects.toMatchObject({ responseCode: 552 });
  expect(kept()).toEqual([]);
});

test('has one line for a port that is taken', async () => {
  const port = Number(new URL(sink.url).port);
  await expect(startMailSink({ dir: sink.dir, port })).rejects.toThrow(
    `Port ${port}, wanted for the mail sink, is in use`,
  );
});

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import type { Config, SourceConfig } from '../../config/config.js';
import { loadConfig, parseDuration } from '../../config/index.js';
import { CommandError } from '../../errors.js';
import { signDelivery } from '../../sources/sign-delivery.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { printDocument } from '../print-document.js';
import { localUrl } from '../webhook-url.js';

interface SendOptions {
  readonly url?: string;
  readonly id?: string;
  readonly type?: string;
  readonly header: readonly string[];
  readonly secret: number;
  readonly signWith?: string;
  readonly age?: number;
  readonly times: number;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Longer than a receiver takes for any answer, in milliseconds. */
const ANSWER_WITHIN_MS = 15_000;

/** `oncehook send`: an event from a file, signed as its sender would. */
export function addSendCommand(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('send')
    .description("sign an event from a file as a source's sender would, and send it to a receiver")
    .argument('<source>', 'a configured source')
    .argument('<file>', 'the body, sent as it is; - for standard input')
    .option('--url <url>', 'where to; by default this source of a receiver on this machine')
    .option('--id <id>', 'event ID, for senders that name it in a header (default: a new one)')
    .option('--type <type>', 'event type, for senders that name it in a header')
    .option('--header <name: value>', 'one more header; may be repeated', collect, [])
    .option('--secret <position>', 'which of the configured secrets signs, from 0', readPosition, 0)
    .option('--sign-with <variable>', 'sign with the secret in this environment variable instead (a whsk_ key for v1a)')
    .option('--age <duration>', 'sign as of this long ago, to see what the tolerance does (6m)', readDuration)
    .option('--times <n>', 'send it this often at once, to see duplicates', readTimes, 1)
    .option('--dry-run', 'print the request and send nothing')
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample: oncehook send stripe event.json --times 5')
    .action(async (name: string, file: string, options: SendOptions) => {
      const config = loadConfig({ env: process.env, cwd: process.cwd(), role: 'tool' });
      const request = buildRequest(config, name, readBody(file), options);
      if (options.dryRun === true) {
        printDocument({ url: request.url, headers: request.headers, body: request.body.toString('utf8') });
        return;
      }
      const answers = await Promise.all(Array.from({ length: options.times }, () => post(request)));
      if (options.json === true) printDocument({ url: request.url, answers });
      else for (const { status, body } of answers) process.stdout.write(`${status} ${body}\n`);
      finish(answers.every(({ status }) => status >= 200 && status < 300) ? EXIT.done : EXIT.failed);
    });
}

interface SignedRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function buildRequest(config: Config, name: string, body: Buffer, options: SendOptions): SignedRequest {
  const source = config.sources.get(name);
  if (source === undefined) {
    throw new CommandError(
      'not_found',
      `There is no source ${name}; there is ${[...config.sources.keys()].join(', ')}`,
    );
  }
  if (namesTypeInHeader(source) && options.type === undefined) {
    throw new CommandError('usage', `${name} names the event type in a header: add --type`);
  }
  const facts = {
    body,
    eventId: options.id ?? `${source.kind === 'standard-webhooks' ? 'msg_' : ''}${randomUUID()}`,
    eventType: options.type ?? '',
    nowMs: Date.now() - (options.age ?? 0),
  };
  return {
    url: options.url ?? localUrl(config.environment, name),
    headers: { ...signed(source, signingSecret(source, options), facts), ...extraHeaders(options.header) },
    body,
  };
}

function namesTypeInHeader(source: SourceConfig): boolean {
  return source.kind === 'github' || (source.kind === 'hmac' && source.eventType.kind === 'header');
}

function signed(source: SourceConfig, secret: string, facts: Parameters<typeof signDelivery>[2]) {
  try {
    return signDelivery(source, secret, facts);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandError(
      'usage',
      `${source.name} cannot be signed for: ${error.message} (--sign-with names a variable)`,
    );
  }
}

function signingSecret(source: SourceConfig, { secret, signWith }: SendOptions): string {
  if (signWith !== undefined) {
    const text = process.env[signWith] ?? '';
    if (text === '') throw new CommandError('usage', `--sign-with: the environment variable ${signWith} is not set`);
    return text;
  }
  const found = source.secrets.current()[secret];
  if (found !== undefined) return found.reveal();
  const count = source.secrets.current().length;
  const says = count === 0 ? 'its secrets are not set here' : `it has ${count}, counted from 0`;
  throw new CommandError('usage', `${source.name} has no secret ${secret}: ${says}`);
}

function extraHeaders(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':');
      if (at < 1) throw new CommandError('usage', `--header must be "Name: value"`);
      return [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
}

function readBody(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new CommandError('usage', `The file ${file} cannot be read (${code})`);
  }
}

async function post({ url, headers, body }: SignedRequest): Promise<{ status: number; body: string }> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers,
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    return { status: answer.status, body: await answer.text() };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const says = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError('failed', `No answer from ${url} (${says}): is a receiver running there?`);
  }
}

function collect(line: string, lines: readonly string[]): readonly string[] {
  return [...lines, line];
}

function readPosition(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError('must be a position, from 0.');
  return Number(text);
}

function readTimes(text: string): number {
  const times = Number(text);
  if (!/^\d+$/.test(text) || times < 1 || times > 1_000) throw new InvalidArgumentError('must be 1 to 1000.');
  return times;
}

function readDuration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('must be a duration such as 90s, 10m or 2h.');
  return ms;
}

import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { receiverConfig } from '../../src/service/receiver-config.js';
import { createSource } from '../../src/sources/create-source.js';
import type { VerificationInput } from '../../src/sources/source.js';
import { configure } from '../support/configured.js';
import { SENDER_ENV, SENDER_SOURCES, signAs, type SenderName } from '../support/senders.js';
import { compareTimes, type TimingResult } from '../support/timing.js';

/** Every way to hold a secret. Not ed25519: its key is public, so no time could tell anything. */
const KEYED = ['stripe', 'github', 'svix', 'shopify', 'slack', 'paddle', 'clinic'] as const satisfies SenderName[];

const NOW = 1_700_000_000;
const PAIRS = 8_000;
/** The bound above which such a test is commonly taken to have found a leak (dudect). */
const FOUND = 4.5;
/** On a busy machine a sound verifier may be over the bound once; one that leaks is so every time. */
const ATTEMPTS = 3;

type End = 'first' | 'last';

const { sources } = receiverConfig(configure(SENDER_SOURCES, SENDER_ENV));

/** A delivery whose digest is wrong in one byte, all else as it should be. */
function spoiledDelivery(name: SenderName, end: End): VerificationInput {
  const settings = sources.get(name)!;
  const { headers, body } = signAs(name, { body: '{"n":1}', at: NOW });
  return {
    headers: Object.fromEntries(
      Object.entries(headers).map(([header, value]) => [header.toLowerCase(), [spoilDigest(value, end)]]),
    ),
    body,
    secrets: settings.secrets.current().map((secret) => secret.reveal()),
    toleranceMs: 300_000,
    nowSeconds: NOW,
  };
}

function spoilDigest(header: string, end: End): string {
  return header.replace(/[0-9a-f]{64}|[A-Za-z0-9+/]{43}=/, (digest) => {
    const encoding = digest.length === 64 ? 'hex' : 'base64';
    return spoilByte(Buffer.from(digest, encoding), end).toString(encoding);
  });
}

function spoilByte(digest: Buffer, end: End): Buffer {
  const spoiled = Buffer.from(digest);
  spoiled[end === 'first' ? 0 : spoiled.length - 1]! ^= 1;
  return spoiled;
}

function print(name: string, results: readonly TimingResult[]): void {
  const figures = results.map(({ t, differenceNs }) => `t = ${t.toFixed(1)} (${differenceNs.toFixed(0)} ns)`);
  process.stderr.write(`tests: wrong in the last byte or in the first, ${name}: ${figures.join(', ')}\n`);
}

describe('how long a signature takes that is wrong', () => {
  test.each(KEYED)('in its first byte or in its last: %s', (name) => {
    const source = createSource(sources.get(name)!);
    const inputs = [spoiledDelivery(name, 'first'), spoiledDelivery(name, 'last')] as const;
    for (const input of inputs) expect(source.verify(input)).toEqual({ ok: false, cause: 'no_matching_secret' });

    const results: TimingResult[] = [];
    do results.push(compareTimes((input) => source.verify(input), inputs, PAIRS));
    while (Math.abs(results.at(-1)!.t) >= FOUND && results.length < ATTEMPTS);
    print(name, results);
    expect(Math.min(...results.map(({ t }) => Math.abs(t)))).toBeLessThan(FOUND);
  });

  // What the harness finds, so that finding nothing means something. (What a comparison in machine code would leak, it
  // would not find; signature-comparison.test.ts shows that only `timingSafeEqual` compares.)
  test('is found out where a comparison ends at the first difference', () => {
    const body = Buffer.from('{"n":1}');
    const digest = (): Buffer => createHmac('sha256', 'the secret of the control').update(body).digest();
    const verifyCarelessly = (signature: Buffer): boolean => {
      const expected = digest();
      for (let at = 0; at < expected.length; at += 1) if (signature[at] !== expected[at]) return false;
      return true;
    };
    const results: TimingResult[] = [];
    do results.push(compareTimes(verifyCarelessly, [spoilByte(digest(), 'first'), spoilByte(digest(), 'last')], PAIRS));
    while (results.at(-1)!.t < 2 * FOUND && results.length < ATTEMPTS);
    print('control', results);
    expect(Math.max(...results.map(({ t }) => t))).toBeGreaterThan(2 * FOUND);
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verify as octokitVerify } from '@octokit/webhooks-methods';
import * as standardwebhooks from 'standardwebhooks';
import Stripe from 'stripe';
import * as svix from 'svix';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { verifyGithubSignature } from '../../src/sources/github-signature.js';
import { verifyStandardWebhooks } from '../../src/sources/standard-webhooks-signature.js';
import { verifyStripeSignature } from '../../src/sources/stripe-signature.js';
import type { VerificationInput } from '../../src/sources/source.js';
import { configure } from '../support/configured.js';
import { problemsOf } from '../support/config-input.js';
import { ROOT } from '../support/dist.js';
import {
  bytesOf,
  githubCases,
  githubPayloads,
  githubPayloadText,
  standardWebhooksCases,
  stripeSignatureCases,
  type HeaderCase,
} from '../support/vectors.js';

/*
 * Every vector through our verifiers and through the official ones. Where they decide otherwise than we do, or throw
 * what a caller who knows their documented error would not catch, the case stands here with the reason. A case that is
 * not listed must not differ, and one that is listed must.
 */

type Verdict = 'accepts' | 'refuses' | 'throws';
/** What they do where we do otherwise, and why. */
type Differences = Readonly<Record<string, readonly [theirs: Verdict, because: string]>>;

const NO_FUTURE_BOUND = 'it has no bound on the future';
const TAKES_REPLACED_BYTES = 'it decodes the body before the MAC, which replaces what is not UTF-8';
const SEES_OTHER_BYTES = 'it decodes the body before the MAC, so it sees other bytes than were signed';
const DROPS_MARK = 'it decodes the body before the MAC, which drops a byte order mark';

/** stripe 23.1.0, `verifyHeader`. */
const STRIPE_DIFFERS: Differences = {
  'future-301': ['accepts', NO_FUTURE_BOUND],
  'future-10-years': ['accepts', NO_FUTURE_BOUND],
  't-milliseconds': ['accepts', NO_FUTURE_BOUND],
  't-huge': ['accepts', 'it has no bound on the future, and reads more digits than a number holds'],
  't-leading-space-zero': ['accepts', 'it reads the time with parseInt'],
  'two-header-lines-second-good': ['accepts', 'it takes several headers joined to one, and the last time in it'],
  'v1-empty': ['throws', 'it throws a plain Error, which is not its documented one'],
  'v1-without-equals': ['throws', 'it throws a plain Error, which is not its documented one'],
  'v1-64-latin1-chars': ['throws', 'it compares characters with bytes and throws a RangeError'],
  'v1-latin1-then-valid': ['throws', 'it compares characters with bytes and throws a RangeError'],
  'bom-added-after-signing': ['accepts', DROPS_MARK],
  'bom-signed': ['refuses', DROPS_MARK],
  'invalid-utf8-signed-as-replacement-chars': ['accepts', TAKES_REPLACED_BYTES],
  'invalid-utf8-signed': ['refuses', SEES_OTHER_BYTES],
  'many-v1-200-last-good': ['accepts', 'it has no bound on the number of signatures'],
};

/** @octokit/webhooks-methods 6.0.0, `verify`. */
const OCTOKIT_DIFFERS: Differences = {
  'no-header': ['throws', 'it throws a TypeError where there is no signature'],
  'empty-header': ['throws', 'it throws a TypeError where there is no signature'],
  'invalid-utf8-signed-as-replacement': ['accepts', TAKES_REPLACED_BYTES],
  'invalid-utf8-body-signed-bytes': ['refuses', SEES_OTHER_BYTES],
};

const NO_ED25519: Differences[string] = ['throws', 'it has no ed25519, and reads the whole public key as base64'];
const ANY_LENGTH: Differences[string] = ['accepts', 'it takes keys under the 24 bytes of the specification'];

/** standardwebhooks 1.1.1, `Webhook.verify`, under its own header names. */
const STANDARD_WEBHOOKS_DIFFERS: Differences = {
  'secret-shorter-than-24-bytes': ANY_LENGTH,
  'unpadded-secret-needs-one': ANY_LENGTH,
  'ts-trailing-junk': ['accepts', 'it reads the time with parseInt, and signs what it read'],
  'ts-float': ['accepts', 'it reads the time with parseInt, and signs what it read'],
  'dot-in-id-boundary-shift': ['accepts', 'it allows the dot in an ID, which the specification forbids'],
  'id-with-newline-cannot-arrive': ['accepts', 'it allows anything in an ID'],
  'id-256-chars': ['accepts', 'it has no bound on the length of an ID'],
  'invalid-utf8-signed-as-replacement': ['accepts', TAKES_REPLACED_BYTES],
  'invalid-utf8-signed-bytes': ['refuses', SEES_OTHER_BYTES],
  'v1a-valid': NO_ED25519,
  'v1a-flipped-bit': NO_ED25519,
  'v1a-all-zero': NO_ED25519,
  'v1a-value-under-v1': NO_ED25519,
  'hmac-keyed-with-the-public-key-as-v1': NO_ED25519,
  'hmac-keyed-with-the-public-key-as-v1a': NO_ED25519,
};

const PARSES_EMPTY: Differences[string] = ['throws', 'it parses the body as JSON at once, also an empty one'];

/** svix 1.99.1, `Webhook.verify`, under both families of names; it stands on standardwebhooks 1.0.0. */
const SVIX_DIFFERS: Differences = {
  ...STANDARD_WEBHOOKS_DIFFERS,
  'svix-unpadded-secret-needs-one': ANY_LENGTH,
  'empty-payload': PARSES_EMPTY,
  'svix-empty-payload': PARSES_EMPTY,
};

describe('ours and the official library decide alike but for what is listed', () => {
  test('stripe', () => {
    const stripe = new Stripe('sk_test_unused');
    const verdicts = stripeSignatureCases().map((vector) => {
      const { name, headerLines, secret, toleranceSeconds, now } = vector;
      const body = bytesOf(vector);
      const header = headerLines?.join(', ') ?? '';
      const theirs = verdictOf(Stripe.errors.StripeSignatureVerificationError, () =>
        stripe.webhooks.signature!.verifyHeader(body, header, secret, toleranceSeconds, undefined, now * 1000),
      );
      const headers = headerLines === null ? {} : { 'stripe-signature': headerLines };
      return { name, theirs, ours: ourVerdict(verifyStripeSignature, { ...vector, headers, body }) };
    });
    expect(verdicts).toHaveLength(54);
    expect(differing(verdicts)).toEqual(listed(STRIPE_DIFFERS));
  });

  test('@octokit/webhooks-methods', async () => {
    const cases = githubCases().map((vector) => ({ ...vector, bytes: bytesOf(vector) }));
    const { secret, payloads } = githubPayloads();
    const genuine = payloads.map(({ file, 'X-Hub-Signature-256': signature }) => {
      return { name: file, secret, headerLines: [signature], bytes: Buffer.from(githubPayloadText(file)) };
    });
    const verdicts = [...cases, ...genuine].map(async (vector) => {
      const { name, headerLines, bytes: body } = vector;
      const theirs = await octokitVerify(vector.secret, body.toString(), headerLines?.join(', ') ?? '')
        .then((isValid): Verdict => (isValid ? 'accepts' : 'refuses'))
        .catch((): Verdict => 'throws');
      const headers = headerLines === null ? {} : { 'x-hub-signature-256': headerLines };
      return { name, theirs, ours: ourVerdict(verifyGithubSignature, { secret: vector.secret, headers, body }) };
    });
    expect(verdicts).toHaveLength(19 + 37);
    expect(differing(await Promise.all(verdicts))).toEqual(listed(OCTOKIT_DIFFERS));
  });

  const { webhook, svix: svixNamed, ed25519 } = standardWebhooksCases();

  test('standardwebhooks', () => {
    const verdicts = compareStandard(standardwebhooks, [...webhook, ...ed25519]);
    expect(verdicts).toHaveLength(44 + 6);
    expect(differing(verdicts)).toEqual(listed(STANDARD_WEBHOOKS_DIFFERS));
  });

  test('svix', () => {
    const verdicts = compareStandard(svix, [
      ...webhook,
      ...svixNamed.map((vector) => ({ ...vector, name: `svix-${vector.name}` })),
      ...ed25519,
    ]);
    expect(verdicts).toHaveLength(44 + 21 + 6);
    expect(differing(verdicts)).toEqual(listed(SVIX_DIFFERS));
  });
});

test('docs/senders.md says how many verdicts differ', () => {
  const all = [STRIPE_DIFFERS, OCTOKIT_DIFFERS, STANDARD_WEBHOOKS_DIFFERS, SVIX_DIFFERS];
  const count = all.reduce((sum, differences) => sum + Object.keys(differences).length, 0);
  const page = readFileSync(join(ROOT, 'docs/senders.md'), 'utf8');
  expect(page).toContain(`${count} of ${54 + 56 + 50 + 71} verdicts differ`);
});

afterEach(() => {
  vi.useRealTimers();
});

interface Compared {
  readonly name: string;
  readonly ours: Verdict;
  readonly theirs: Verdict;
}

function differing(verdicts: readonly Compared[]): Record<string, Verdict> {
  return Object.fromEntries(
    verdicts.filter(({ ours, theirs }) => ours !== theirs).map(({ name, theirs }) => [name, theirs]),
  );
}

function listed(differences: Differences): Record<string, Verdict> {
  return Object.fromEntries(Object.entries(differences).map(([name, [theirs]]) => [name, theirs]));
}

interface Judged {
  readonly secret: string;
  readonly headers: VerificationInput['headers'];
  readonly body: Buffer;
  readonly now?: number;
  readonly toleranceSeconds?: number;
}

function ourVerdict(
  verify: (input: VerificationInput) => { readonly ok: boolean },
  { secret, headers, body, now = 0, toleranceSeconds = 300 }: Judged,
): Verdict {
  const input = { headers, body, secrets: [secret], toleranceMs: toleranceSeconds * 1000, nowSeconds: now };
  return verify(input).ok ? 'accepts' : 'refuses';
}

function verdictOf(documented: new (...args: never[]) => Error, verify: () => unknown): Verdict {
  try {
    verify();
    return 'accepts';
  } catch (error) {
    return error instanceof documented ? 'refuses' : 'throws';
  }
}

interface StandardLibrary {
  readonly Webhook: new (secret: string) => { verify(body: Buffer, headers: Record<string, string>): unknown };
  readonly WebhookVerificationError: new (message: string) => Error;
}

/** These libraries have no clock of their own to set. */
function compareStandard(library: StandardLibrary, cases: readonly HeaderCase[]): Compared[] {
  return cases.map((vector) => {
    const { name, secret, now = 0 } = vector;
    const body = bytesOf(vector);
    vi.useFakeTimers({ now: now * 1000, toFake: ['Date'] });
    const theirs = verdictOf(library.WebhookVerificationError, () =>
      new library.Webhook(secret).verify(body, { ...vector.headers }),
    );
    vi.useRealTimers();
    const headers = Object.fromEntries(Object.entries(vector.headers).map(([header, value]) => [header, [value]]));
    const isRefusedAtStart = problemsOf(() => configure(STANDARD_SOURCE, { CASE_SECRET: secret })).length > 0;
    const ours = isRefusedAtStart ? 'refuses' : ourVerdict(verifyStandardWebhooks, { ...vector, headers, body });
    return { name, ours, theirs };
  });
}

const STANDARD_SOURCE = { standard: { kind: 'standard-webhooks', secrets: ['${CASE_SECRET}'] } };

import { readFileSync } from 'node:fs';

const VECTORS = new URL('../fixtures/vectors/', import.meta.url);

/** A case of signatures/stripe.json; see fixtures/vectors/README.md for its fields. */
export interface SignatureCase {
  readonly name: string;
  readonly secret: string;
  readonly now: number;
  readonly toleranceSeconds: number;
  readonly headerLines: readonly string[] | null;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly expect: 'valid' | 'invalid' | 'signature_valid_json_invalid' | 'signature_valid_event_invalid' | 'policy';
  readonly reason?: string;
}

/** A case of signatures/github.json. */
export interface GithubCase {
  readonly name: string;
  readonly secret: string;
  readonly headerLines: readonly string[] | null;
  readonly contentType?: string;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly expect: 'valid' | 'invalid' | 'signature_valid_json_invalid';
  readonly reason?: string;
}

/** A delivery that is played again, in steps, under headers that nobody signed. */
export interface ReplayScript {
  readonly secret: string;
  readonly body: string;
  readonly signature: string;
  readonly steps: readonly {
    readonly do: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Instead of the script's. */
    readonly body?: string;
    readonly signature?: string;
  }[];
}

export interface GithubPayload {
  readonly file: string;
  readonly event: string;
  readonly action: string | null;
  readonly sha256: string;
  readonly 'X-Hub-Signature-256': string;
}

/** A case with named headers: signatures/standard-webhooks.json and other.json. */
export interface HeaderCase {
  readonly name: string;
  /** Of ed25519 cases the public key. */
  readonly secret: string;
  /** Where a time is signed. */
  readonly now?: number;
  readonly toleranceSeconds?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly expect:
    | 'valid'
    | 'valid_if_supported'
    | 'valid_signature_but_replay'
    | 'invalid'
    | 'signature_valid_json_invalid'
    | 'config_error'
    | 'http_400';
  readonly reason?: string;
}

/** A known answer of RFC 4231. */
export interface HmacAnswer {
  readonly name: string;
  readonly keyHex: string;
  readonly messageHex: string;
  readonly hmacSha256Hex: string;
}

export interface HostileBody {
  readonly name: string;
  readonly group: string;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly generate?: GeneratedBody;
  readonly expectStatus: number | '200_or_400' | '200_or_413';
  readonly expectCode: string;
  readonly bytes: number;
}

interface GeneratedBody {
  readonly prefix: string;
  readonly repeat?: readonly [string, number];
  readonly middle?: string;
  readonly repeatEnd?: readonly [string, number];
  readonly repeatIndexed?: readonly [string, number];
  readonly suffix: string;
}

export interface HostileRequest {
  readonly name: string;
  readonly group: string;
  readonly raw?: string;
  readonly rawBase64?: string;
  /** Text, milliseconds to wait after it, or -1 to half-close. */
  readonly chunks?: readonly (readonly [string, number])[];
  readonly generate?: { readonly head: string; readonly repeat: readonly [string, number] };
  readonly expectStatus: readonly (number | 'closed')[];
  readonly expectCode?: string;
}

export interface JsonSuiteFile {
  readonly verdict: 'accept' | 'reject' | 'implementation_defined';
  readonly set: string;
  readonly base64?: string;
  readonly repeat?: readonly [string, number];
  readonly suffix?: string;
  readonly node: string;
}

export interface StripeFixture {
  readonly file: string;
  readonly id: string;
  readonly type: string;
  readonly sha256: string;
}

export function stripeSignatureCases(): readonly SignatureCase[] {
  return (read('signatures/stripe.json') as { cases: readonly SignatureCase[] }).cases;
}

export function githubCases(): readonly GithubCase[] {
  return (read('signatures/github.json') as { cases: readonly GithubCase[] }).cases;
}

export function githubReplayScript(): ReplayScript {
  return (read('signatures/github.json') as { unsignedHeaderReplay: ReplayScript }).unsignedHeaderReplay;
}

export function githubPayloads(): { readonly secret: string; readonly payloads: readonly GithubPayload[] } {
  return read('github/index.json') as { secret: string; payloads: readonly GithubPayload[] };
}

/** The exact text of a payload as GitHub would send it, by file name. */
export function githubPayloadText(file: string): string {
  return readFileSync(new URL(`github/${file}`, VECTORS), 'utf8');
}

/** The cases under both families of header names, and those of ed25519, whose secret is the public key. */
export function standardWebhooksCases(): Readonly<Record<'webhook' | 'svix' | 'ed25519', readonly HeaderCase[]>> {
  const { cases, svixHeaderNames, ed25519 } = read('signatures/standard-webhooks.json') as {
    cases: readonly HeaderCase[];
    svixHeaderNames: { cases: readonly HeaderCase[] };
    ed25519: { cases: readonly (Omit<HeaderCase, 'secret'> & { publicKey: string })[] };
  };
  const keyed = ed25519.cases.map(({ publicKey, ...vector }) => ({ ...vector, secret: publicKey }));
  return { webhook: cases, svix: svixHeaderNames.cases, ed25519: keyed };
}

export function otherCases(): {
  readonly slack: readonly HeaderCase[];
  readonly shopify: readonly HeaderCase[];
  readonly rfc4231: readonly HmacAnswer[];
} {
  const { slack, shopify, rfc4231 } = read('signatures/other.json') as {
    slack: { cases: readonly HeaderCase[] };
    shopify: { cases: readonly HeaderCase[] };
    rfc4231: { cases: readonly HmacAnswer[] };
  };
  return { slack: slack.cases, shopify: shopify.cases, rfc4231: rfc4231.cases };
}

export function hostileBodies(): readonly HostileBody[] {
  return (read('json/hostile-bodies.json') as { cases: readonly HostileBody[] }).cases;
}

export function hostileRequests(): readonly HostileRequest[] {
  return (read('http/hostile-http.json') as { cases: readonly HostileRequest[] }).cases;
}

/** JSONTestSuite's files by name. */
export function jsonTestSuite(): Readonly<Record<string, JsonSuiteFile>> {
  return (read('json/JSONTestSuite.json') as { files: Readonly<Record<string, JsonSuiteFile>> }).files;
}

export function stripeFixtures(): readonly StripeFixture[] {
  return (read('stripe/index.json') as { events: readonly StripeFixture[] }).events;
}

/** The exact bytes of an event as Stripe would send it, by file name. */
export function stripeEventBytes(file: string): Buffer {
  return readFileSync(new URL(`stripe/${file}`, VECTORS));
}

/** The exact bytes that a case asks to send. */
export function bytesOf(source: {
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly generate?: GeneratedBody;
}): Buffer {
  if (source.bodyBase64 !== undefined) return Buffer.from(source.bodyBase64, 'base64');
  return Buffer.from(source.generate === undefined ? source.body! : generated(source.generate));
}

function generated({ prefix, repeat, middle = '', repeatEnd, repeatIndexed, suffix }: GeneratedBody): string {
  const start = repeat === undefined ? '' : repeat[0].repeat(repeat[1]);
  const end = repeatEnd === undefined ? '' : repeatEnd[0].repeat(repeatEnd[1]);
  const indexed =
    repeatIndexed === undefined
      ? ''
      : Array.from({ length: repeatIndexed[1] }, (_, index) => repeatIndexed[0].replaceAll('%d', String(index))).join(
          '',
        );
  return prefix + start + indexed + middle + end + suffix;
}

/** Our own fixtures, so their shape is known. */
function read(file: string): unknown {
  return JSON.parse(readFileSync(new URL(file, VECTORS), 'utf8'));
}

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

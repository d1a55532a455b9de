import fc from 'fast-check';
import type { SignedDelivery } from './senders.js';

/** A request as it goes over the wire, part by part, so that a part can be spoiled. */
interface WireRequest {
  method: string;
  path: string;
  headers: [name: string, value: string][];
  body: Buffer;
  framing: 'length' | 'chunked' | 'none';
  /** Added to the length that is declared. */
  lengthError: number;
  /** Pieces of the finished bytes that are cut out and put in. */
  cuts: readonly Cut[];
}

export interface Cut {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

export const cut: fc.Arbitrary<Cut> = fc.record({
  at: fc.nat(),
  remove: fc.nat({ max: 3 }),
  insert: fc.string({ maxLength: 3, unit: 'binary-ascii' }),
});

/** Takes pieces out of a text and puts others in. */
export function withCuts(text: string, cuts: readonly Cut[]): string {
  return cuts.reduce((current, { at, remove, insert }) => {
    const from = at % (current.length + 1);
    return current.slice(0, from) + insert + current.slice(from + remove);
  }, text);
}

/** One thing that is done to a genuine delivery. */
export type Spoiling = (request: WireRequest) => void;

const METHODS = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'post', 'BREW', 'P\u00d6ST'];

const PATHS = ['/', '/webhooks', '/webhooks/', '//webhooks/stripe', '/WEBHOOKS/stripe', '/webhooks/stripe/', '/webhooks/%73tripe', '/webhooks/..%2fadmin', '/webhooks/%ff', '/healthz', '*', '']; // prettier-ignore

const EXTRA_HEADERS: readonly [string, string][] = [
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'identity'],
  ['Transfer-Encoding', 'chunked'],
  ['Transfer-Encoding', 'gzip, chunked'],
  ['Content-Length', '0'],
  ['Content-Length', '-1'],
  ['Content-Type', 'application/x-www-form-urlencoded'],
  ['Expect', '100-continue'],
  ['Expect', 'the unexpected'],
  ['Upgrade', 'websocket'],
  ['X-Request-Id', 'a b'],
  ['webhook-id', 'x'],
  ['svix-id', 'x'],
  ['Host', ''],
  ['X-Long', 'x'.repeat(20_000)],
];

const spoiling: fc.Arbitrary<Spoiling> = fc.oneof(
  how(3, fc.nat(), ({ headers }, which) => headers.splice(which % headers.length, 1)),
  how(3, fc.nat(), ({ headers }, which) => headers.push([...headers[which % headers.length]!])),
  how(5, fc.tuple(fc.nat(), fc.array(cut, { minLength: 1, maxLength: 3 })), ({ headers }, [which, cuts]) => {
    const header = headers[which % headers.length]!;
    header[1] = withCuts(header[1], cuts).replaceAll(/[\r\n]/g, '');
  }),
  how(2, fc.tuple(fc.nat(), fc.nat()), ({ headers }, [from, to]) => {
    headers[to % headers.length]![1] = headers[from % headers.length]![1];
  }),
  how(2, fc.constantFrom(...EXTRA_HEADERS), ({ headers }, [name, value]) => headers.push([name, value])),
  how(3, fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), ({ body }, [at, change]) => {
    if (body.length > 0) body[at % body.length]! ^= change;
  }),
  how(2, fc.nat(), (request, length) => {
    request.body = request.body.subarray(0, length % (request.body.length + 1));
  }),
  how(2, fc.uint8Array({ maxLength: 40 }), (request, bytes) => {
    request.body = Buffer.concat([request.body, bytes]);
  }),
  how(1, fc.uint8Array({ maxLength: 200 }), (request, bytes) => {
    request.body = Buffer.from(bytes);
  }),
  how(1, fc.json(), (request, text) => {
    request.body = Buffer.from(text);
  }),
  how(2, fc.integer({ min: -5, max: 5 }), (request, error) => {
    request.lengthError = error;
  }),
  how(2, fc.constantFrom('chunked' as const, 'none' as const), (request, framing) => {
    request.framing = framing;
  }),
  how(1, fc.constantFrom(...METHODS), (request, method) => {
    request.method = method;
  }),
  how(1, fc.constantFrom(...PATHS), (request, path) => {
    request.path = path;
  }),
  how(3, fc.array(cut, { minLength: 1, maxLength: 4 }), (request, cuts) => {
    request.cuts = cuts;
  }),
);

/** None to three things; of none the delivery is genuine. */
export const spoilings: fc.Arbitrary<readonly Spoiling[]> = fc.array(spoiling, { maxLength: 3 });

/** The bytes of a delivery after what is done to it; the connection is to be closed after one answer. */
export function spoiledBytes({ path, headers, body }: SignedDelivery, spoil: readonly Spoiling[]): Buffer {
  const request: WireRequest = {
    method: 'POST',
    path,
    headers: Object.entries(headers),
    body: Buffer.from(body),
    framing: 'length',
    lengthError: 0,
    cuts: [],
  };
  for (const change of spoil) change(request);
  const bytes = wireBytes(request);
  return request.cuts.length === 0 ? bytes : Buffer.from(withCuts(bytes.toString('latin1'), request.cuts), 'latin1');
}

/** One way to spoil a request, as often as its weight says; every request has headers of its own. */
function how<Value>(
  weight: number,
  values: fc.Arbitrary<Value>,
  spoil: (request: WireRequest, value: Value) => unknown,
): { readonly weight: number; readonly arbitrary: fc.Arbitrary<Spoiling> } {
  const arbitrary = values.map((value): Spoiling => (request) => {
    if (request.headers.length > 0) spoil(request, value);
  });
  return { weight, arbitrary };
}

function wireBytes({ method, path, headers, body, framing, lengthError }: WireRequest): Buffer {
  const framed = framing === 'chunked' ? chunks(body, lengthError) : body;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(framing === 'length' ? [`Content-Length: ${Math.max(0, body.length + lengthError)}`] : []),
    ...(framing === 'chunked' ? ['Transfer-Encoding: chunked'] : []),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), framed]);
}

/** In two chunks, whose sizes are wrong by so much. */
function chunks(body: Buffer, error: number): Buffer {
  const half = Math.ceil(body.length / 2);
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
  const chunk = (part: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${Math.max(1, part.length + error).toString(16)}\r\n`), part, Buffer.from('\r\n')]);
  return Buffer.concat([...parts.map(chunk), Buffer.from('0\r\n\r\n')]);
}

import { createHash } from 'node:crypto';
import type { CheckpointHook } from '../checkpoints.js';
import type { InsertResult } from '../inbox/commit-batch.js';
import { asideId } from '../inbox/keep-aside.js';
import type { NewEvent, StoredResult } from '../inbox/new-event.js';
import type { Metrics } from '../observability/metrics.js';
import type { DistinctHeaders, Envelope, Source, SignatureRefusal, VerificationInput } from '../sources/source.js';
import type { BodyMemory } from './body-memory.js';
import type { Diagnose } from './diagnose-signature.js';
import { readJsonBody } from './json-body.js';
import { declaredLength, type ReadBody, type ReadBodyOptions } from './read-body.js';
import type { ReceivingSource } from './receiving-source.js';
import { refused, type Verdict } from './verdict.js';

/** A request to a source, whatever server it came through. */
export interface IncomingDelivery {
  readonly method: string;
  readonly headers: DistinctHeaders;
  /** Called at most once. Never rejects. */
  readonly readBody: (options: ReadBodyOptions) => Promise<ReadBody>;
}

export interface JudgeDeps {
  readonly insert: (event: NewEvent) => Promise<InsertResult>;
  readonly bodyMemory: BodyMemory;
  /** Looks for what made a signature fail, for the operator. */
  readonly diagnose: Diagnose;
  readonly checkpoints: CheckpointHook;
  readonly metrics: Metrics;
  /** The receiver's clock, in milliseconds since 1970. */
  readonly now: () => number;
  /** True once the process has begun to stop. */
  readonly isStopping: () => boolean;
}

/** From the end of the headers to the end of the body, in milliseconds. */
const BODY_DEADLINE_MS = 8_000;

/**
 * Decides what a request is, and stores what it brings. The order of these checks is a promise: before the signature holds, nothing of the body is
 * parsed or stored.
 */
export async function judgeDelivery(
  deps: JudgeDeps,
  delivery: IncomingDelivery,
  receiving: ReceivingSource | undefined,
  requestId: string,
): Promise<Verdict> {
  const arrivedAt = deps.now();
  if (delivery.method !== 'POST') return refused('method_not_allowed');
  if (receiving === undefined) return refused('unknown_source');
  if (deps.isStopping()) return refused('unavailable', 'stopping');
  if ((declaredLength(delivery.headers) ?? 0) > receiving.maxBodyBytes) return refused('payload_too_large', 'declared');
  if (isEncoded(delivery.headers)) return refused('unsupported_encoding');

  const reservation = deps.bodyMemory.reserve();
  try {
    const read = await delivery.readBody({
      maxBytes: receiving.maxBodyBytes,
      deadlineMs: BODY_DEADLINE_MS,
      reservation,
    });
    if (!read.ok) return unread(read);
    await deps.checkpoints('receiver.body-read');

    const verified = verify(deps, delivery.headers, receiving, read.body, { requestId, arrivedAt });
    if ('kind' in verified) return verified;
    await deps.checkpoints('receiver.before-insert');

    const result = await deps.insert(verified.event);
    if (result === 'unavailable') return refused('unavailable', 'insert', { envelope: verified.envelope });
    await deps.checkpoints('receiver.after-commit');
    return stored(verified, result);
  } finally {
    reservation.release();
  }
}

/** No sender compresses, and whether a signature covers the bytes before or after would be a guess. */
function isEncoded(headers: DistinctHeaders): boolean {
  const isOther = (name: string, plain: string): boolean =>
    (headers[name] ?? [plain]).join(', ').trim().toLowerCase() !== plain;
  return isOther('content-encoding', 'identity') || isOther('transfer-encoding', 'chunked');
}

function unread({ cause }: Extract<ReadBody, { ok: false }>): Verdict {
  switch (cause) {
    case 'too_large':
      return refused('payload_too_large', 'read');
    case 'timeout':
      return refused('request_timeout');
    case 'out_of_memory':
      return refused('unavailable', 'body_memory');
    case 'already_read':
      return refused('unavailable', 'body_already_read');
    case 'aborted':
      return { kind: 'aborted' };
  }
}

interface Verified {
  readonly event: NewEvent;
  readonly envelope: Envelope;
}

function stored({ event, envelope }: Verified, result: StoredResult): Verdict {
  switch (result) {
    case 'inserted':
      return { kind: 'stored', result: 'accepted', envelope };
    case 'duplicate':
    case 'duplicate_of_other_bytes':
      return { kind: 'stored', result: 'duplicate', envelope, otherBytes: result === 'duplicate_of_other_bytes' };
    case 'suspected_replay':
    case 'id_conflict': {
      const disposition = { kind: 'quarantined', reason: result } as const;
      return { kind: 'stored', result: 'accepted', envelope: { ...envelope, eventId: asideId(event), disposition } };
    }
  }
}

function verify(
  deps: JudgeDeps,
  headers: DistinctHeaders,
  receiving: ReceivingSource,
  body: Buffer,
  { requestId, arrivedAt }: { readonly requestId: string; readonly arrivedAt: number },
): Verified | Verdict {
  if (body.length === 0) return refused('empty_body');
  const { source, rateLimiter } = receiving;
  const input = {
    headers,
    body,
    secrets: receiving.secrets.current().map((secret) => secret.reveal()),
    toleranceMs: receiving.toleranceMs,
    nowSeconds: Math.floor(arrivedAt / 1000),
  };
  const verification = source.verify(input);
  if (!verification.ok) return refuseSignature(deps, source, input, verification);
  deps.metrics.secretMatches.inc({ source: source.name, position: String(verification.secretPosition) });
  if (rateLimiter?.take(performance.now()) === false) return refused('rate_limited');

  const signedSha256 = createHash('sha256').update(body).digest();
  const facts = { bytes: body.length, sha256: signedSha256.toString('hex') };
  const text = source.unwrap === undefined ? body : source.unwrap(headers, body);
  if (text === undefined) return refused('invalid_event', 'not_the_form_it_claims', facts);
  const json = readJsonBody(text);
  if (!json.ok) return refused(json.code, undefined, facts);
  const reading = source.read({ headers, text: json.text, payload: json.value });
  if (reading === undefined) return refused('invalid_event', undefined, facts);
  if (reading.kind === 'challenge') return { kind: 'challenge', answer: reading.answer };
  const { envelope } = reading;
  const { secretPosition } = verification;
  const received = { source: source.name, requestId, signedSha256, secretPosition, payloadText: json.text };
  return { event: newEvent(envelope, received), envelope };
}

function refuseSignature(
  deps: JudgeDeps,
  source: Source,
  input: VerificationInput,
  refusal: SignatureRefusal,
): Verdict {
  if (refusal.cause === 'timestamp_out_of_tolerance') {
    return refused('invalid_signature', refusal.cause, { skewSeconds: refusal.skewSeconds });
  }
  const found = refusal.cause === 'no_matching_secret' ? deps.diagnose(source, input) : undefined;
  if (found === undefined) return refused('invalid_signature', refusal.cause);
  const { cause, ...facts } = found;
  return refused('invalid_signature', cause, facts);
}

type Received = Pick<NewEvent, 'source' | 'requestId' | 'signedSha256' | 'secretPosition' | 'payloadText'>;

function newEvent(envelope: Envelope, received: Received): NewEvent {
  const { scope, eventId, identity, eventType, providerCreatedAt, twinEventId, disposition } = envelope;
  return {
    ...received,
    scope,
    eventId,
    identity,
    eventType,
    providerCreatedAt,
    twinEventId,
    status: disposition.kind === 'process' ? 'pending' : disposition.kind,
    outcome: disposition.kind === 'done' ? disposition.outcome : null,
    reason: disposition.kind === 'process' ? null : disposition.reason,
  };
}

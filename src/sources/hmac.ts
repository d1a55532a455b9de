import type { EventIdentity } from '../domain/event.js';
import type { Challenge, EventIdPlace, EventTypePlace, HmacSignature } from '../domain/hmac-sender.js';
import { dispose, type DispositionSettings } from './disposition.js';
import { readEventId } from './hmac-event-id.js';
import { verifyHmac } from './hmac-signature.js';
import { isIdentifier, isUnsignedIdentifier } from './identifier.js';
import { atPointer } from './json-pointer.js';
import { oneHeader } from './one-header.js';
import type { Reading, ReadingInput, Source } from './source.js';

/** What the configuration says of a sender that signs with an HMAC of its own making, as far as receiving goes. */
export interface HmacSettings extends DispositionSettings {
  readonly name: string;
  readonly account: string;
  readonly tenant: string;
  readonly secretEncoding: 'utf8' | 'hex' | 'base64';
  readonly signature: HmacSignature;
  readonly eventId: EventIdPlace;
  readonly eventType: EventTypePlace;
  readonly challenge: Challenge | null;
  /** `null` when the signature covers the ID. */
  readonly equalBodies: 'suspicious' | 'normal' | null;
}

/** More than any sender asks to have repeated; the answer is the caller's own text. */
const MAX_ANSWER_CHARACTERS = 4_096;

/** Any sender whose signature the configuration can describe. */
export function hmacSource(settings: HmacSettings): Source {
  const { eventId, signature } = settings;
  const signsId = eventId.kind === 'header' && signature.signed.includes('{id}');
  const verifier = { ...settings, signedIdHeader: signsId ? eventId.header : null };
  return {
    name: settings.name,
    verify: (input) => verifyHmac(verifier, input),
    read: (input) => readDelivery(settings, input),
  };
}

function readDelivery(settings: HmacSettings, input: ReadingInput): Reading | undefined {
  // A number or text on its own could be the tail of another body, moved across the template's separators.
  if (typeof input.payload !== 'object' || input.payload === null) return undefined;
  const { challenge } = settings;
  if (challenge !== null && atPointer(input.payload, challenge.when.pointer) === challenge.when.equals) {
    const answer = atPointer(input.payload, challenge.answer);
    if (typeof answer !== 'string' || answer.length > MAX_ANSWER_CHARACTERS) return undefined;
    return { kind: 'challenge', answer };
  }
  const eventId = readEventId(settings.eventId, input);
  const eventType = readEventType(settings, input);
  if (eventId === undefined || !isIdentifier(eventType)) return undefined;
  const identity = identityOf(settings);
  if (identity.startsWith('unsigned') && !isUnsignedIdentifier(eventId)) return undefined;
  const providerCreatedAt = null;
  return {
    kind: 'event',
    envelope: {
      eventId,
      identity,
      eventType,
      scope: `hmac:${settings.account}`,
      tenant: settings.tenant,
      providerCreatedAt,
      senderRequestId: null,
      twinEventId: null,
      disposition: dispose(settings, { eventType, providerCreatedAt }),
    },
  };
}

function readEventType({ eventType }: HmacSettings, { headers, payload }: ReadingInput): unknown {
  if (eventType.kind === 'body') return atPointer(payload, eventType.pointer);
  const header = oneHeader(headers, eventType.header);
  return typeof header === 'string' ? undefined : header.value;
}

function identityOf({ eventId, equalBodies }: HmacSettings): EventIdentity {
  if (eventId.kind === 'derived') return 'derived';
  if (equalBodies === null) return 'signed';
  return equalBodies === 'suspicious' ? 'unsigned' : 'unsigned_repeatable';
}

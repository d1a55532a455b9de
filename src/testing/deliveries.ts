import { randomUUID } from 'node:crypto';
import { buildSource } from '../config/build-source.js';
import { SOURCE_SCHEMAS } from '../config/source-schemas.js';
import { signDelivery, type SigningScheme } from '../sources/sign-delivery.js';

/** A request as its sender would post it; hand both to `fetch`, `supertest` or `app.inject`. */
export interface SignedDelivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface DeliveryOptions {
  /** One of the source's secrets; for ed25519 the private key (`whsk_`). */
  readonly secret: string;
  /** When it is sent; now by default. */
  readonly at?: Date;
}

/** For senders that name event and type in headers. */
export interface NamedDeliveryOptions extends DeliveryOptions {
  /** Event ID; a new one by default. */
  readonly id?: string;
}

/** An HMAC sender, in the notation of the configuration file. */
export interface HmacDeliveryOptions extends NamedDeliveryOptions {
  /** The source's block as it stands in the configuration, without `secrets`. */
  readonly source: Readonly<Record<string, unknown>>;
  /** For senders that name the type in a header. */
  readonly type?: string;
}

/** What is sent: an object as JSON, or a body to the byte. */
export type DeliveryBody = string | Buffer | Readonly<Record<string, unknown>> | object;

/** As Stripe delivers an event; see `stripeEvent`. */
export function stripeDelivery(event: DeliveryBody, options: DeliveryOptions): SignedDelivery {
  return sign({ kind: 'stripe' }, event, options);
}

/** As GitHub delivers an event of `type` (the header `X-GitHub-Event`, as `pull_request`). */
export function githubDelivery(
  payload: DeliveryBody,
  options: NamedDeliveryOptions & { readonly type: string },
): SignedDelivery {
  return sign({ kind: 'github' }, payload, options);
}

/** As senders by Standard Webhooks and Svix do; the type is in the body. */
export function standardWebhooksDelivery(payload: DeliveryBody, options: NamedDeliveryOptions): SignedDelivery {
  return sign({ kind: 'standard-webhooks' }, payload, { id: `msg_${randomUUID()}`, ...options });
}

/**
 * As a sender of kind `hmac` does.
 * @throws TypeError naming what is wrong with the block `source`
 */
export function hmacDelivery(payload: DeliveryBody, options: HmacDeliveryOptions): SignedDelivery {
  // A block names its secrets by reference; those are not read here.
  const block = { kind: 'hmac', secrets: ['${SECRET}'], ...options.source };
  const checked = SOURCE_SCHEMAS.hmac.safeParse(block);
  if (!checked.success) {
    const problems = checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new TypeError(`This is not the block of an hmac source: ${problems.join('; ')}`);
  }
  const source = buildSource('test', checked.data);
  if (source.kind !== 'hmac') throw new TypeError('The block is of another kind than hmac');
  return sign(source, payload, options);
}

function sign(
  scheme: SigningScheme,
  payload: DeliveryBody,
  { secret, at = new Date(), id = randomUUID(), type = '' }: NamedDeliveryOptions & { readonly type?: string },
): SignedDelivery {
  const body = bytesOf(payload);
  const headers = signDelivery(scheme, secret, { body, eventId: id, eventType: type, nowMs: at.getTime() });
  return { headers, body };
}

function bytesOf(payload: DeliveryBody): Buffer {
  if (Buffer.isBuffer(payload)) return payload;
  return Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
}

import { createHmac, createPrivateKey, sign as signEd25519 } from 'node:crypto';
import { signedParts } from './hmac-signature.js';
import type { HmacSettings } from './hmac.js';

/** What a sender says beside the body. */
export interface DeliveryFacts {
  readonly body: Buffer;
  /** For senders that name the event in a header; elsewhere it is in the body. */
  readonly eventId: string;
  /** For senders that name the type in a header. */
  readonly eventType: string;
  /** Of the delivery, in Unix milliseconds. */
  readonly nowMs: number;
}

/** How a source's sender signs; of a source's settings only this much is read. */
export type SigningScheme =
  { readonly kind: 'stripe' | 'github' | 'standard-webhooks' } | ({ readonly kind: 'hmac' } & HmacScheme);

type HmacScheme = Pick<HmacSettings, 'secretEncoding' | 'signature' | 'eventId' | 'eventType'>;

/** One of the source's secrets; for ed25519 the private key, `whsk_` and the base64 of its 32 or 64 bytes. */
export type SigningSecret = string;

/**
 * The headers with which a source's sender would deliver this body; the other half of `Source.verify`, for `oncehook
 * send` and for tests.
 * @throws TypeError when the secret can only verify (`whpk_`) or is no private key
 */
export function signDelivery(
  scheme: SigningScheme,
  secret: SigningSecret,
  facts: DeliveryFacts,
): Readonly<Record<string, string>> {
  switch (scheme.kind) {
    case 'stripe': {
      const t = Math.floor(facts.nowMs / 1000);
      const digest = createHmac('sha256', secret).update(`${t}.`).update(facts.body).digest('hex');
      return { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': `t=${t},v1=${digest}` };
    }
    case 'github':
      return {
        'content-type': 'application/json',
        'x-github-delivery': facts.eventId,
        'x-github-event': facts.eventType,
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(facts.body).digest('hex')}`,
      };
    case 'standard-webhooks':
      return signStandardWebhooks(secret, facts);
    case 'hmac':
      return signHmac(scheme, secret, facts);
  }
}

function signStandardWebhooks(secret: SigningSecret, { body, eventId, nowMs }: DeliveryFacts): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const message = Buffer.concat([Buffer.from(`${eventId}.${timestamp}.`), body]);
  if (secret.startsWith('whpk_')) throw new TypeError('a public key (whpk_) can only verify; sign with its whsk_');
  const signature = secret.startsWith('whsk_')
    ? `v1a,${signEd25519(null, message, privateKey(secret)).toString('base64')}`
    : `v1,${createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
        .update(message)
        .digest('base64')}`;
  return {
    'content-type': 'application/json',
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  };
}

/** PKCS #8 of an ed25519 seed (RFC 8410, section 7): a fixed prefix, then the 32 bytes. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

function privateKey(secret: string): ReturnType<typeof createPrivateKey> {
  const bytes = Buffer.from(secret.slice('whsk_'.length), 'base64');
  if (bytes.length !== 32 && bytes.length !== 64)
    throw new TypeError('whsk_ must be followed by base64 of 32 or 64 bytes');
  // The longer form is the seed and the public key.
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, bytes.subarray(0, 32)]), format: 'der', type: 'pkcs8' });
}

function signHmac(settings: HmacScheme, secret: SigningSecret, facts: DeliveryFacts): Record<string, string> {
  const { signature, eventId, eventType } = settings;
  const { timestamp, fields } = signature;
  const time = String(timestamp?.unit === 'ms' ? facts.nowMs : Math.floor(facts.nowMs / 1000));
  const hmac = createHmac(signature.algorithm, Buffer.from(secret, settings.secretEncoding));
  const parts = signedParts(signature.signed, { timestamp: time, id: facts.eventId }, facts.body);
  for (const part of parts) hmac.update(part);
  const value = signature.prefix + hmac.digest(signature.encoding);
  const values =
    fields === null
      ? [value]
      : [...(timestamp?.kind === 'field' ? [`${timestamp.field}=${time}`] : []), `${fields.signature}=${value}`];
  return {
    'content-type': 'application/json',
    ...(eventId.kind === 'header' ? { [eventId.header]: facts.eventId } : {}),
    ...(eventType.kind === 'header' ? { [eventType.header]: facts.eventType } : {}),
    ...(timestamp?.kind === 'header' ? { [timestamp.header]: time } : {}),
    [signature.header]: values.join(fields?.separator ?? ''),
  };
}

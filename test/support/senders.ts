import { createHmac, createPrivateKey, sign as signEd25519 } from 'node:crypto';
import { exampleSources, type SourceDocuments } from './configured.js';

/*
 * Senders as their own documentation has them sign, written by hand: what the product signs with is under test too.
 */

export interface SignedDelivery {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface DeliverySettings {
  readonly body: string | Buffer;
  /** Where a header names the event or its type. */
  readonly id?: string;
  readonly type?: string;
  /** Unix seconds. */
  readonly at?: number;
  readonly secret?: string;
}

export const SENDER_NAMES = ['stripe', 'github', 'svix', 'ed25519', 'shopify', 'slack', 'paddle', 'clinic'] as const;
export type SenderName = (typeof SENDER_NAMES)[number];

/** RFC 8032, section 7.1, TEST 1. */
const ED25519_SEED = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
const ED25519_PUBLIC = 'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=';

export const SENDER_SECRETS: Readonly<Record<SenderName, string>> = {
  stripe: 'whsec_a_secret_of_stripe',
  github: 'a secret for one hook of github',
  svix: `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`,
  ed25519: ED25519_PUBLIC,
  shopify: 'shpss_a_client_secret_of_shopify',
  slack: '8f742231b10e8888abcd99e2f0a185a5',
  paddle: 'pdl_ntfset_01_a_secret_of_paddle',
  clinic: 'a secret between us and the clinic',
};

/** Every sender at once, most as docs/senders.md configures them. */
export const SENDER_SOURCES: SourceDocuments = {
  stripe: { kind: 'stripe', secrets: ['${STRIPE_WEBHOOK_SECRET}'], account: 'acct_1', handlers: 'none' },
  ed25519: { kind: 'standard-webhooks', secrets: [ED25519_PUBLIC] },
  ...exampleSources('github', 'svix', 'shopify', 'slack', 'paddle', 'x-event-id'),
};

export const SENDER_ENV: Readonly<Record<string, string>> = {
  STRIPE_WEBHOOK_SECRET: SENDER_SECRETS.stripe,
  GITHUB_WEBHOOK_SECRET: SENDER_SECRETS.github,
  SVIX_SIGNING_SECRET: SENDER_SECRETS.svix,
  SHOPIFY_CLIENT_SECRET: SENDER_SECRETS.shopify,
  SLACK_SIGNING_SECRET: SENDER_SECRETS.slack,
  PADDLE_WEBHOOK_SECRET: SENDER_SECRETS.paddle,
  CLINIC_SECRET: SENDER_SECRETS.clinic,
};

/** A small event as each sender words it; `id` and `type` are where that sender puts them. */
export function senderEvent(sender: SenderName, id: string, type: string): DeliverySettings {
  return { id, type, body: JSON.stringify(payloadOf(sender, id, type)) };
}

function payloadOf(sender: SenderName, id: string, type: string): object {
  switch (sender) {
    case 'stripe':
      return { id, object: 'event', type, created: 1_700_000_000, livemode: false, data: { object: { id: 'x_1' } } };
    case 'slack':
      return { type: 'event_callback', event_id: id, event: { type } };
    case 'paddle':
      return { event_id: id, event_type: type, data: {} };
    case 'github':
    case 'shopify':
    case 'svix':
    case 'ed25519':
    case 'clinic':
      return { type, about: id };
  }
}

/** A delivery as this sender signs it, now unless told otherwise. */
export function signAs(sender: SenderName, settings: DeliverySettings): SignedDelivery {
  const { id = 'id_1', type = 'test', at = Math.floor(Date.now() / 1000), secret = SENDER_SECRETS[sender] } = settings;
  const body = Buffer.from(settings.body);
  const json = { 'Content-Type': 'application/json' };
  const delivery = (headers: Readonly<Record<string, string>>): SignedDelivery => ({
    path: `/webhooks/${sender}`,
    headers: { ...json, ...headers },
    body,
  });
  const hmac = (before: string, key: string | Buffer = secret): Buffer =>
    createHmac('sha256', key).update(before).update(body).digest();
  switch (sender) {
    case 'stripe':
      return delivery({ 'Stripe-Signature': `t=${at},v1=${hmac(`${at}.`).toString('hex')}` });
    case 'github':
      return delivery({
        'X-GitHub-Delivery': id,
        'X-GitHub-Event': type,
        'X-Hub-Signature-256': `sha256=${hmac('').toString('hex')}`,
      });
    case 'svix': {
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
      const signature = `v1,${hmac(`${id}.${at}.`, key).toString('base64')}`;
      return delivery({ 'svix-id': id, 'svix-timestamp': String(at), 'svix-signature': signature });
    }
    case 'ed25519': {
      const signature = `v1a,${signed(`${id}.${at}.`, body).toString('base64')}`;
      return delivery({ 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signature });
    }
    case 'shopify':
      return delivery({
        'X-Shopify-Webhook-Id': id,
        'X-Shopify-Topic': type,
        'X-Shopify-Hmac-SHA256': hmac('').toString('base64'),
      });
    case 'slack':
      return delivery({
        'X-Slack-Request-Timestamp': String(at),
        'X-Slack-Signature': `v0=${hmac(`v0:${at}:`).toString('hex')}`,
      });
    case 'paddle':
      return delivery({ 'Paddle-Signature': `ts=${at};h1=${hmac(`${at}:`).toString('hex')}` });
    case 'clinic':
      return delivery({
        'X-Event-Id': id,
        'X-Timestamp': String(at),
        'X-Signature': hmac(`${at}.${id}.`).toString('hex'),
      });
  }
}

function signed(before: string, body: Buffer): Buffer {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), ED25519_SEED]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return signEd25519(null, Buffer.concat([Buffer.from(before), body]), key);
}

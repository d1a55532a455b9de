import { createHmac } from 'node:crypto';

/** Signs as Stripe does; the valid case that tests spoil. */
export function stripeSignature(body: string | Buffer, secret: string, timestamp: number | string): string {
  return `t=${timestamp},v1=${stripeDigest(body, secret, timestamp)}`;
}

/** The hex digest alone, for headers put together by hand. */
export function stripeDigest(body: string | Buffer, secret: string, timestamp: number | string): string {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
}

export function unixNow(): number {
  return Math.floor(Date.now() / 1000);
}

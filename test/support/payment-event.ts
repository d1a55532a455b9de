import { randomBytes } from 'node:crypto';
import type { TestDatabase } from './database.js';
import { stripeEventBytes } from './vectors.js';

export interface PaymentEvent {
  id: string;
  type: string;
  livemode: boolean;
  account?: string;
  data: { object: Record<string, unknown> & { id: string; metadata: Record<string, unknown> } };
}

/** A real-shaped `payment_intent.succeeded` of 42.00 USD under fresh IDs; each test spoils one thing. */
export function paymentEvent(orderId: string, spoil: (event: PaymentEvent) => void = () => undefined): PaymentEvent {
  const event = JSON.parse(stripeEventBytes('payment_intent.succeeded.json').toString()) as PaymentEvent;
  event.id = `evt_${token()}`;
  event.data.object.id = `pi_${token()}`;
  event.data.object.metadata = { order_id: orderId };
  spoil(event);
  return event;
}

export function token(): string {
  return randomBytes(10).toString('hex');
}

/** Registers an order as an application does. */
export async function registerOrder(
  { pool }: TestDatabase,
  id = `order_${token()}`,
  { totalMinor = 4200, currency = 'usd', email = 'buyer@example.com' } = {},
): Promise<string> {
  await pool.query(
    'insert into oncehook.orders (tenant_id, id, total_minor, currency, customer_email) values ($1, $2, $3, $4, $5)',
    ['default', id, totalMinor, currency, email],
  );
  return id;
}

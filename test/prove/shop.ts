import type { TestDatabase } from '../../src/testing/index.js';
import { stripeEvent, type StripeEnvelope } from '../../src/testing/index.js';

/** The tables of a small shop, as its own migrations would make them. */
export async function createShop(db: TestDatabase): Promise<void> {
  await db.query(`
    create table customers (
      id text primary key, points integer not null default 0,
      paid_once boolean not null default false, refunded_once boolean not null default false);
    create table orders (
      id text primary key,
      customer_id text not null references customers,
      status text not null default 'awaiting_payment',
      total_minor bigint not null,
      currency text not null default 'usd',
      paid_minor bigint not null default 0,
      refunded_minor bigint not null default 0,
      last_refund_id text,
      stock_returned integer not null default 0
    );
    create table refunds (id text primary key, order_id text not null references orders, amount_minor bigint not null);
  `);
}

export async function addCustomer(db: TestDatabase): Promise<void> {
  await db.query(`insert into customers (id) values ('cus_1')`);
}

/** Order `o_1` of 50.00 USD, in the given status. */
export async function addOrder(db: Pick<TestDatabase, 'query'>, status = 'awaiting_payment'): Promise<void> {
  await db.query(`insert into customers (id) values ('cus_1') on conflict do nothing`);
  await db.query(`insert into orders (id, customer_id, status, total_minor) values ('o_1', 'cus_1', $1, 5000)`, [
    status,
  ]);
}

export async function readOrders(db: TestDatabase): Promise<unknown> {
  const { rows } = await db.query<Record<string, unknown>>(
    'select id, status, paid_minor, refunded_minor, stock_returned from orders order by id',
  );
  return rows;
}

/** An event about an object of order `o_1`; `id` tells two of one type apart. */
export function shopEvent(type: string, object: Readonly<Record<string, unknown>>, id = type): StripeEnvelope {
  return stripeEvent(type, { id: 'obj_1', metadata: { order_id: 'o_1' }, ...object }, { id: `evt_${id}` });
}

/** What these handlers read of an event, without checking it: as the shops did whose mistakes they repeat. */
export interface ShopObject {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
  readonly payment_status: string;
  readonly metadata: { readonly order_id: string };
}

export function objectOf(event: { readonly payload: unknown }): ShopObject {
  return (event.payload as { data: { object: ShopObject } }).data.object;
}

import {
  applied,
  defineHandlers,
  fetchFirst,
  latestState,
  type FetchReference,
  type Handler,
  type Transaction,
  type WebhookEvent,
} from '../../src/index.js';
import type { TestDatabase } from './database.js';
import { token } from './payment-event.js';

/** A subscription as the provider has it; every change gives it the next version. */
export interface Subscription {
  readonly id: string;
  readonly version: number;
}

export interface SubscriptionEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly object: { readonly id: string } };
}

const TYPES = ['customer.subscription.created', 'customer.subscription.updated', 'customer.subscription.deleted'];

/** An event that says that something happened to a subscription, and not what. */
export function subscriptionEvent(subscription: string, type = TYPES[1]!): SubscriptionEvent {
  return { id: `evt_${token()}`, type, data: { object: { id: subscription } } };
}

export function subscriptionOf(event: WebhookEvent): FetchReference {
  const { data } = event.payload as SubscriptionEvent;
  return { type: 'subscription', id: data.object.id };
}

/** An application's own table, and what was written into it in the order of the commits. */
export async function createSubscriptionTables({ pool }: TestDatabase): Promise<void> {
  await pool.query(`
    create table subscriptions (id text primary key, version integer);
    create table writes (
      number bigint generated always as identity primary key, id text not null, version integer, fetch_order bigint)`);
}

/** Writes whatever it is given over what is there. */
async function writeState(
  tx: Transaction,
  id: string,
  version: number | null,
  order: string | undefined,
): Promise<void> {
  await tx.query(
    `insert into subscriptions (id, version) values ($1, $2) on conflict (id) do update set version = excluded.version`,
    [id, version],
  );
  await tx.query('insert into writes (id, version, fetch_order) values ($1, $2, $3)', [id, version, order]);
}

export const keepLatest: Handler = latestState<Subscription>({
  name: 'subscriptions',
  object: subscriptionOf,
  apply: async ({ id, version }, event, tx) => {
    await writeState(tx, id, version, event.fetched(subscriptionOf(event))?.order);
    return applied();
  },
  missing: async ({ id }, event, tx) => {
    await writeState(tx, id, null, event.fetched(subscriptionOf(event))?.order);
    return applied();
  },
});

/** What one writes at first: fetch, and write what came. The last to commit wins, however old what it fetched is. */
export const lastWriteWins: Handler = async (event, tx) => {
  const reference = subscriptionOf(event);
  const fetched = event.fetched(reference);
  if (fetched?.kind !== 'found') return fetchFirst(reference);
  await writeState(tx, reference.id, (fetched.object as Subscription).version, fetched.order);
  return applied();
};

export function handledBy(handler: Handler): ReturnType<typeof defineHandlers> {
  return defineHandlers(Object.fromEntries(TYPES.map((type) => [type, handler])));
}

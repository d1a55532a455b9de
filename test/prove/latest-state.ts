import { applied, defineHandlers, latestState } from '../../src/index.js';
import { defineProof, stripeEvent } from '../../src/testing/index.js';

interface Subscription {
  readonly id: string;
  readonly status: string;
}

/** Whatever an event says, what Stripe has now is what counts. */
const subscription = latestState<Subscription>({
  name: 'subscription',
  object: () => ({ type: 'subscription', id: 'sub_1' }),
  apply: async (item, _event, tx) => {
    await tx.query(
      `insert into subscriptions (id, status) values ($1, $2)
           on conflict (id) do update set status = excluded.status`,
      [item.id, item.status],
    );
    return applied();
  },
});

const told = (type: string, status: string): ReturnType<typeof stripeEvent> =>
  stripeEvent(`customer.subscription.${type}`, { id: 'sub_1', status }, { id: `evt_${type}` });

export const proof = defineProof({
  handlers: defineHandlers({
    'customer.subscription.created': subscription,
    'customer.subscription.deleted': subscription,
  }),
  setup: (db) => db.query('create table subscriptions (id text primary key, status text not null)'),
  events: [told('created', 'active'), told('deleted', 'canceled')],
  fetch: () => ({ kind: 'found', object: { id: 'sub_1', status: 'canceled' } }),
  state: async (db) => (await db.query<{ status: string }>('select id, status from subscriptions')).rows,
});

import { defineProof, stripeEvent } from 'oncehook/testing';
import { shopSchema } from '../src/shop-schema.js';
import { shop } from '../src/webhooks.js';

const paid = (id: string, order: string, amount: number) =>
  stripeEvent('payment_intent.succeeded', {
    id,
    amount_received: amount,
    currency: 'usd',
    metadata: { order_id: order },
  });

/** `npm run prove`: one order, a late one, a second payment; under every order, crash, repetition and race. */
export default defineProof({
  handlers: shop,
  setup: (db) => db.query(shopSchema()),
  given: (db) => db.query(`insert into shop.orders (id, total_minor, currency) values ('o_1', 4200, 'usd')`),
  steps: {
    'the shop stores order o_2': (tx) =>
      tx.query(`insert into shop.orders (id, total_minor, currency) values ('o_2', 700, 'usd')`),
  },
  events: [paid('pi_1', 'o_1', 4200), paid('pi_2', 'o_2', 700), paid('pi_3', 'o_1', 4200)],
  arrivalMayDecide: ['events', 'effects'], // which of two payments pays order o_1
  state: async (db) => (await db.query('select id, status from shop.orders order by id')).rows,
});

import { applied, defineHandlers, superseded } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** A dispute holds an order that is still alive; what support has canceled and refunded stays so. */
const handlers = defineHandlers({
  'charge.dispute.created': async (event, tx) => {
    const { rowCount } = await tx.query(`update orders set status = 'on_hold' where id = $1 and status <> 'canceled'`, [
      objectOf(event).metadata.order_id,
    ]);
    return rowCount === 1 ? applied() : superseded();
  },
});

export const proof = defineProof({
  handlers,
  setup: createShop,
  given: (db) => addOrder(db, 'paid'),
  events: [shopEvent('charge.dispute.created', { status: 'needs_response' })],
  steps: {
    'support cancels and refunds the order': (tx) =>
      tx.query(`update orders set status = 'canceled', refunded_minor = total_minor where id = 'o_1'`),
  },
  state: readOrders,
});

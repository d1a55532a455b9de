import { applied, defineHandlers } from '../../src/index.js';
import { defineProof } from '../../src/testing/index.js';
import { addOrder, createShop, objectOf, readOrders, shopEvent } from './shop.js';

/** C15: a dispute about an order that support canceled and refunded opens it again and puts stock back. */
const handlers = defineHandlers({
  'charge.dispute.created': async (event, tx) => {
    await tx.query(`update orders set status = 'on_hold', stock_returned = stock_returned + 1 where id = $1`, [
      objectOf(event).metadata.order_id,
    ]);
    return applied();
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

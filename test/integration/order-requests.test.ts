import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { idempotencyKey, operationKey } from '../../src/domain/operation.js';
import { sha256Hex } from '../../src/sha256.js';
import { openApplyBench, SCOPE, type ApplyBench } from '../support/apply-bench.js';
import { deliverInOrder, OrderDeliveries, type Delivered } from '../support/order-deliveries.js';
import { registerOrder, token } from '../support/payment-event.js';

let bench: ApplyBench;

beforeAll(async () => {
  bench = await openApplyBench();
});

afterAll(() => bench.close());

async function paidOrder(): Promise<OrderDeliveries> {
  const deliveries = new OrderDeliveries();
  await registerOrder(bench.database, deliveries.orderId);
  await deliverInOrder(bench, [deliveries.event('payment_intent.succeeded')]);
  return deliveries;
}

async function requestRefund(orderId: string, amount: number | null, requestId: string | null): Promise<string> {
  const [row] = await bench.database.rows<{ key: string }>(
    `select oncehook.request_refund('default', $1, $2, $3) as key`,
    [orderId, amount, requestId],
  );
  return row!.key;
}

async function requestCancel(orderId: string): Promise<string | null> {
  const [row] = await bench.database.rows<{ key: string | null }>(
    `select oncehook.request_cancel('default', $1) as key`,
    [orderId],
  );
  return row!.key;
}

async function operation(key: string): Promise<Record<string, unknown>> {
  const [row] = await bench.database.rows(
    `select *, next_attempt_at <= now() as due from oncehook.operations where operation_key = $1`,
    [key],
  );
  return row!;
}

async function status(orderId: string): Promise<string> {
  const [row] = await bench.database.rows<{ status: string }>('select status from oncehook.orders where id = $1', [
    orderId,
  ]);
  return row!.status;
}

describe('names of operations', () => {
  it('are made in SQL as in the library', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
          { minLength: 1, maxLength: 4 },
        ),
        async (parts) => {
          const [row] = await bench.database.rows<{ key: string }>(
            'select oncehook.operation_key(variadic $1::text[]) as key',
            [parts],
          );
          expect(row!.key).toBe(operationKey(parts[0]!, ...parts.slice(1)));
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('request_refund', () => {
  it('plans the refund under its derived keys, due at once, with the parameters that the operation expects', async () => {
    const { orderId, token: name } = await paidOrder();
    const key = await requestRefund(orderId, 1000, 'ticket 7:ä');
    expect(key).toBe(operationKey('refund', 'requested', 'default', orderId, 'ticket 7:ä'));
    expect(await operation(key)).toMatchObject({
      kind: 'refund',
      tenant_id: 'default',
      status: 'planned',
      due: true,
      source_scope: null,
      event_id: null,
      idempotency_key: idempotencyKey(key, 1, sha256Hex),
      params: {
        scope: SCOPE,
        paymentId: `pi_3${name}000000000001`,
        amountMinor: 1000,
        currency: 'usd',
        orderId,
        purpose: 'requested',
        reason: 'requested_by_customer',
      },
    });
  });

  it('gives the same operation for the same request, and refuses another amount under it', async () => {
    const { orderId } = await paidOrder();
    const key = await requestRefund(orderId, 4200, 'r1');
    expect(await requestRefund(orderId, 4200, 'r1')).toBe(key);
    await expect(requestRefund(orderId, 1, 'r1')).rejects.toThrow(
      `Request r1 of order ${orderId} was for 4200 and is now for 1`,
    );
  });

  it('never claims more than was captured, also when many ask at once', async () => {
    const { orderId } = await paidOrder();
    const asked = await Promise.allSettled(
      Array.from({ length: 10 }, (_, at) => requestRefund(orderId, 1000, `r${at}`)),
    );
    expect(asked.filter((result) => result.status === 'fulfilled')).toHaveLength(4);
    await expect(requestRefund(orderId, 201, 'last')).rejects.toThrow(
      `Order ${orderId} has 200 left to refund, not 201`,
    );
    await requestRefund(orderId, 200, 'last');
  });

  it('counts an operation and its refund once, a refused operation not at all, a failed refund not at all', async () => {
    const deliveries = await paidOrder();
    const { orderId } = deliveries;
    const left = async (): Promise<number> => {
      const [row] = await bench.database.rows<{ left: number }>(
        `select oncehook.refundable_minor(source_scope, provider_payment_id)::int as left
           from oncehook.payments where order_id = $1`,
        [orderId],
      );
      return row!.left;
    };
    const key = await requestRefund(orderId, 500, 'r1');
    expect(await left()).toBe(3700);
    const made = (file: string): Delivered =>
      deliveries.event(file, (event) => {
        event.data.object.metadata = { operation_id: idempotencyKey(key, 1, sha256Hex).replace(/:1$/, '') };
      });
    expect(await deliverInOrder(bench, [made('refund.created.pending')])).toEqual(['applied']);
    expect(
      await bench.database.rows('select operation_key from oncehook.refunds where order_id = $1', [orderId]),
    ).toEqual([{ operation_key: key }]);
    expect(await left()).toBe(3700);
    await deliverInOrder(bench, [made('refund.failed')]);
    expect(await left()).toBe(4200);

    const refused = await requestRefund(orderId, 4200, 'r2');
    expect(await left()).toBe(0);
    await bench.database.rows(
      `update oncehook.operations set status = 'refused', last_error = 'no', settled_at = now() where operation_key = $1`,
      [refused],
    );
    expect(await left()).toBe(4200);
  });

  it('says why not, and what to do next', async () => {
    const { orderId } = await paidOrder();
    const refused = async (change: string, says: string): Promise<void> => {
      await bench.database.rows(`update oncehook.orders set ${change} where id = $1`, [orderId]);
      await expect(requestRefund(orderId, 1, 'r1')).rejects.toThrow(says);
    };
    await refused(`hold_reason = 'refund_failed'`, `Order ${orderId} is on hold: refund_failed`);
    await refused(`hold_reason = null, dispute_state = 'open'`, `Order ${orderId} is disputed`);
    await refused(
      `dispute_state = 'lost', status = 'canceled'`,
      `Order ${orderId} is canceled and has nothing to refund`,
    );
    await expect(requestRefund('nobody', 1, 'r1')).rejects.toThrow('There is no order nobody of tenant default');
    await expect(requestRefund(orderId, 0, 'r1')).rejects.toThrow('positive amount');
    await expect(requestRefund(orderId, null, 'r1')).rejects.toThrow('positive amount');
    await expect(requestRefund(orderId, 1, '')).rejects.toThrow('needs a request_id');
    await expect(requestRefund(orderId, 1, null)).rejects.toThrow('needs a request_id');
    await expect(requestRefund(`unpaid_${token()}`, 1, 'r1')).rejects.toThrow('There is no order');
    const open = await registerOrder(bench.database);
    await expect(requestRefund(open, 1, 'r1')).rejects.toMatchObject({
      hint: 'Cancel it with oncehook.request_cancel.',
    });
  });
});

describe('request_cancel', () => {
  it('cancels an order without a payment at once, as often as it is asked', async () => {
    const orderId = await registerOrder(bench.database);
    expect(await requestCancel(orderId)).toBeNull();
    expect(await requestCancel(orderId)).toBeNull();
    expect(await status(orderId)).toBe('canceled');
  });

  it.each([
    ['payment_intent.created', 'awaiting_payment'],
    ['payment_intent.amount_capturable_updated', 'authorized'],
    ['payment_intent.processing', 'canceled'],
  ])('%s: asks the provider; the order is %s until it confirms', async (file, until) => {
    const deliveries = new OrderDeliveries();
    await registerOrder(bench.database, deliveries.orderId);
    await deliverInOrder(bench, [deliveries.event(file)]);
    const key = await requestCancel(deliveries.orderId);
    expect(await requestCancel(deliveries.orderId)).toBe(key);
    expect(await operation(key!)).toMatchObject({
      kind: 'cancel_payment_intent',
      status: 'planned',
      idempotency_key: idempotencyKey(key!, 1, sha256Hex),
      params: { scope: SCOPE, orderId: deliveries.orderId, reason: 'requested_by_customer' },
    });
    expect(await status(deliveries.orderId)).toBe(until);
    await deliverInOrder(bench, [deliveries.event('payment_intent.canceled')]);
    expect(await status(deliveries.orderId)).toBe('canceled');
  });

  it('comes too late when the payment succeeds: the order is paid', async () => {
    const deliveries = new OrderDeliveries();
    await registerOrder(bench.database, deliveries.orderId);
    await deliverInOrder(bench, [deliveries.event('payment_intent.created')]);
    await requestCancel(deliveries.orderId);
    await deliverInOrder(bench, [deliveries.event('payment_intent.succeeded')]);
    expect(await status(deliveries.orderId)).toBe('paid');
    await expect(requestCancel(deliveries.orderId)).rejects.toMatchObject({
      message: `Order ${deliveries.orderId} is paid and can no longer be canceled`,
      hint: 'Refund it with oncehook.request_refund.',
    });
  });
});

describe('release_hold', () => {
  it('needs somebody and a reason, and is kept', async () => {
    const { orderId } = await paidOrder();
    const release = (by: string, reason: string) =>
      bench.database.rows('select oncehook.release_hold($1, $2, $3, $4) as released', ['default', orderId, by, reason]);
    expect(await release('ana', 'nothing there')).toEqual([{ released: false }]);
    await bench.database.rows(`update oncehook.orders set hold_reason = 'refund_failed' where id = $1`, [orderId]);
    await expect(release('ana', '')).rejects.toThrow('by somebody and for a reason');
    expect(await release('ana', 'paid by bank transfer')).toEqual([{ released: true }]);
    expect(await bench.database.rows('select hold_reason from oncehook.orders where id = $1', [orderId])).toEqual([
      { hold_reason: null },
    ]);
    expect(
      await bench.database.rows(
        `select requested_by, reason, result from oncehook.operator_actions where action = 'release_hold'`,
      ),
    ).toEqual([{ requested_by: 'ana', reason: 'paid by bank transfer', result: 'released:refund_failed' }]);
  });
});

describe('the ledger', () => {
  it('is never changed', async () => {
    await paidOrder();
    for (const change of [
      'update oncehook.order_ledger set amount_minor = 0',
      'delete from oncehook.order_ledger',
      'truncate oncehook.order_ledger',
    ]) {
      await expect(bench.database.rows(change)).rejects.toThrow('The ledger is never changed');
    }
  });

  it('shows where it differs from what it stands for', async () => {
    const { orderId } = await paidOrder();
    await bench.database.rows('update oncehook.payments set captured_minor = 4100 where order_id = $1', [orderId]);
    expect(
      await bench.database.rows(
        'select about, stored_minor::int, ledger_minor::int from oncehook.order_ledger_differences',
      ),
    ).toEqual([{ about: 'payment', stored_minor: 4100, ledger_minor: 4200 }]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlannedOperation } from '../../src/domain/outcome.js';
import { isPaid } from '../../src/domain/orders/order-case.js';
import { loadCase } from '../../src/handlers/orders/load-case.js';
import { openApplyBench, SCOPE, type ApplyBench } from '../support/apply-bench.js';
import { endState, faultsOf, refundsIn } from '../support/order-end-state.js';
import { playHistory, schedule, type History, type HistoryEvent } from '../support/order-histories.js';
import { OrderWorld } from '../support/order-world.js';
import { chooseSeed, seededRandom } from '../support/random.js';

const SCHEDULES = 500;
/** Deliveries of one order at the same time, as several workers would run them. */
const AT_ONCE = 4;

let bench: ApplyBench;
let history: History;

beforeAll(async () => {
  bench = await openApplyBench({ fetch: (reference) => history.answer(reference) });
});

afterAll(() => bench.close());

async function register({ orderId, initialStatus, operations }: History): Promise<void> {
  await bench.database.pool.query(
    `insert into oncehook.orders (tenant_id, id, status, total_minor, currency, customer_email)
     values ('default', $1, $2, 4200, 'usd', 'ada@example.com')`,
    [orderId, initialStatus],
  );
  for (const { operationKey, operationId, paymentId, amountMinor } of operations) {
    const params = {
      scope: SCOPE,
      paymentId,
      amountMinor,
      currency: 'usd',
      orderId,
      purpose: 'requested',
      reason: null,
    };
    await bench.database.pool.query(
      `insert into oncehook.operations (operation_key, kind, tenant_id, params, idempotency_key, status)
       values ($1, 'refund', 'default', $2, $3, 'planned')`,
      [operationKey, params, `${operationId}:1`],
    );
  }
}

/** Delivers everything, a few at once; what waits is tried again, and in the end as one whose patience is spent. */
async function deliverAll(events: readonly HistoryEvent[]): Promise<void> {
  for (const event of events) await bench.store(event);
  let waiting = await applyAll(events, bench.apply);
  for (let before = events.length; waiting.length > 0 && waiting.length < before;) {
    before = waiting.length;
    waiting = await applyAll(waiting, bench.apply);
  }
  await applyAll(waiting, bench.applyAtHorizon);
}

async function applyAll(events: readonly HistoryEvent[], apply: ApplyBench['apply']): Promise<readonly HistoryEvent[]> {
  const waiting: HistoryEvent[] = [];
  const queue = [...events];
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    for (let event = queue.shift(); event !== undefined; event = queue.shift()) {
      if ((await apply(event.id)).kind === 'wait') waiting.push(event);
    }
  });
  await Promise.all(lanes);
  return waiting;
}

async function plannedFor({ orderId, operations }: History): Promise<readonly PlannedOperation[]> {
  const rows = await bench.database.rows<PlannedOperation>(
    `select kind, operation_key as key, params from oncehook.operations where params ->> 'orderId' = $1`,
    [orderId],
  );
  return rows.filter(({ key }) => operations.every(({ operationKey }) => operationKey !== key));
}

describe('every order of arrival, through the apply step on PostgreSQL', () => {
  it(`ends in one state, equal to the fold of the events: ${SCHEDULES} schedules`, { timeout: 600_000 }, async () => {
    const seed = chooseSeed();
    process.stdout.write(`order schedules on PostgreSQL: SEED=${seed}\n`);
    const random = seededRandom(seed);
    for (let at = 0; at < SCHEDULES; at += 1) {
      history = playHistory(random, `d${at}`);
      const told = new OrderWorld(history);
      told.deliverAll(history.events);
      await register(history);
      const events = schedule(random, history.events);
      await deliverAll(events);

      const name = `SEED=${seed} ${history.family} ${history.orderId}: ${events.map(({ type }) => type).join(', ')}`;
      const orderCase = (await loadCase(bench.database.pool, 'default', history.orderId))!;
      const planned = await plannedFor(history);
      expect(faultsOf(history, orderCase, planned), name).toEqual([]);
      const left = await bench.database.rows(
        `select event_id, reason from oncehook.webhook_inbox where status <> 'done'`,
      );
      expect(left, name).toEqual([]);
      if (history.family === 'mixed') {
        const returned = isPaid(orderCase.order.status) ? [] : history.succeeded;
        expect(
          refundsIn(planned).map(({ paymentId }) => paymentId),
          name,
        ).toEqual(returned);
      } else {
        expect(endState(history, orderCase, planned), name).toEqual(endState(history, told.orderCase, told.operations));
      }
    }
    expect(await bench.database.rows('select * from oncehook.order_ledger_differences')).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { isPaid } from '../../src/domain/orders/order-case.js';
import { endState, faultsOf, refundsIn } from '../support/order-end-state.js';
import { playHistory, schedule, type History } from '../support/order-histories.js';
import { OrderWorld } from '../support/order-world.js';
import { chooseSeed, seededRandom } from '../support/random.js';
import { TOTAL } from '../support/order-cases.js';

const HISTORIES = 2_000;
const SCHEDULES_EACH = 5;

/** One line for who has to find it again. */
function describeRun(seed: number, history: History, order: readonly { type: string }[]): string {
  return `SEED=${seed} ${history.family}: ${order.map(({ type }) => type).join(', ')}`;
}

describe('every order of arrival', () => {
  it(
    `ends in one state, equal to the fold of the events: ${HISTORIES * SCHEDULES_EACH} schedules`,
    { timeout: 300_000 },
    () => {
      const seed = chooseSeed();
      process.stdout.write(`order schedules: SEED=${seed}\n`);
      const random = seededRandom(seed);
      for (let at = 0; at < HISTORIES; at += 1) {
        const history = playHistory(random, `h${at}`);
        const told = new OrderWorld(history);
        told.deliverAll(history.events);
        const folded = endState(history, told.orderCase, told.operations);
        const run = describeRun(seed, history, history.events);
        expect(told.quarantined, run).toEqual([]);
        if (history.status !== null) expect(told.orderCase.order.status, run).toBe(history.status);
        for (let times = 0; times < SCHEDULES_EACH; times += 1) {
          const events = schedule(random, history.events);
          const world = new OrderWorld(history);
          world.deliverAll(events);
          const name = describeRun(seed, history, events);
          expect(faultsOf(history, world.orderCase, world.operations), name).toEqual([]);
          expect(world.quarantined, name).toEqual([]);
          if (history.family === 'mixed') expectMoneyKeptOrReturned(history, world, name);
          else expect(endState(history, world.orderCase, world.operations), name).toEqual(folded);
        }
      }
    },
  );

  it('breaks nothing where nobody can be asked: 2,000 schedules', { timeout: 300_000 }, () => {
    const seed = chooseSeed();
    process.stdout.write(`order schedules without a provider: SEED=${seed}\n`);
    const random = seededRandom(seed);
    for (let at = 0; at < 2_000; at += 1) {
      const history = playHistory(random, `h${at}`);
      const events = schedule(random, history.events);
      const world = new OrderWorld(history, 'nobody');
      world.deliverAll(events);
      const { order, payments } = world.orderCase;
      const name = describeRun(seed, history, events);
      expect(order.refundedMinor, name).toBeLessThanOrEqual(order.capturedMinor);
      expect(payments.filter(({ role }) => role === 'bound').length, name).toBeLessThanOrEqual(1);
      const asked = refundsIn(world.operations);
      for (const { paymentId, amountMinor } of asked) {
        expect(amountMinor, name).toBeLessThanOrEqual(TOTAL);
        expect(asked.filter((other) => other.paymentId === paymentId).length, name).toBe(1);
      }
    }
  });
});

/** Where arrival decides whether the order is paid or canceled, its money is kept or given back all the same. */
function expectMoneyKeptOrReturned(history: History, world: OrderWorld, name: string): void {
  const { order } = world.orderCase;
  const returned = refundsIn(world.operations);
  const expected = isPaid(order.status) ? [] : history.succeeded;
  expect(
    returned.map(({ paymentId, amountMinor }) => [paymentId, amountMinor]),
    name,
  ).toEqual(expected.map((paymentId) => [paymentId, TOTAL]));
}

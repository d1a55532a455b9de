import { mkdirSync, writeFileSync } from 'node:fs';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { defineHandlers, type HandlerSet } from '../../src/index.js';
import { ordersHandlers } from '../../src/handlers/orders/index.js';
import { startCoreWorker, storeEvent, SCOPE, type CoreWorker } from '../support/core-worker.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { ORDERS } from '../support/order-options.js';
import { paymentEvent, registerOrder, token } from '../support/payment-event.js';
import { until } from '../support/until.js';
import { HISTORIES, VERSION, type RecordedHistory, type SCENES } from './recorded-history.js';

// Not a test: `npx vitest run --config test/replay/record.config.ts` writes the histories of the present version.

let database: TestDatabase;
let core: CoreWorker;

beforeAll(async () => {
  database = await openDatabase();
  const orders = ordersHandlers(ORDERS);
  const broken = defineHandlers({
    'test.broken': () => {
      throw new Error('broken');
    },
  });
  const handlers: HandlerSet = { handlers: new Map([...orders.handlers, ...broken.handlers]) };
  core = await startCoreWorker(database, { handlers });
  mkdirSync(HISTORIES, { recursive: true });
});

afterAll(async () => {
  await core.stop();
  await database.drop();
});

async function start(event: { id: string; type: string }): Promise<string> {
  const stored = await storeEvent(database, event);
  await core.starts.startEvent({ scope: SCOPE, ...stored });
  return event.id;
}

async function record(scene: (typeof SCENES)[number], eventId: string): Promise<void> {
  const handle = core.handle(eventId);
  const recorded: RecordedHistory = {
    workflowId: handle.workflowId,
    history: withoutMachine(historyToJSON(await handle.fetchHistory())),
  };
  writeFileSync(new URL(`${VERSION}-${scene}.json`, HISTORIES), `${JSON.stringify(recorded, null, 1)}\n`);
}

async function untilRow(eventId: string, column: 'status' | 'last_error', value: string): Promise<void> {
  await until(
    `${column} is ${value}`,
    async () => {
      const [row] = await database.rows(`select ${column} as now from oncehook.webhook_inbox where event_id = $1`, [
        eventId,
      ]);
      return row?.now === value;
    },
    30_000,
  );
}

it('writes one history of every scene', { timeout: 120_000 }, async () => {
  const order = await registerOrder(database);
  const paid = paymentEvent(order);
  await core.handle(await start(paid)).result();
  await record('applied', paid.id);

  const again = await start(paymentEvent(order, (event) => (event.data.object.id = paid.data.object.id)));
  await core.handle(again).result();
  await record('duplicate', again);

  const late = `order_${token()}`;
  const early = await start(paymentEvent(late));
  await untilRow(early, 'last_error', 'unknown_order');
  await record('waiting', early);
  await registerOrder(database, late);
  await core.handle(early).result();
  await record('waited-then-applied', early);

  const missing = `order_${token()}`;
  const lost = await start(paymentEvent(missing));
  await untilRow(lost, 'status', 'quarantined');
  await record('quarantined-and-waiting', lost);
  await registerOrder(database, missing);
  await core.handle(lost).signal('replay', { by: 'ana', reason: 'order imported' });
  await core.handle(lost).result();
  await record('quarantined-then-replayed', lost);

  const wrong = await start(
    paymentEvent(await registerOrder(database), (event) => (event.data.object.amount_received = 1)),
  );
  await untilRow(wrong, 'status', 'quarantined');
  await core.handle(wrong).signal('discard', { by: 'ana', reason: 'refunded by hand' });
  await core.handle(wrong).result();
  await record('discarded', wrong);

  const broken = await start({ id: `evt_${token()}`, type: 'test.broken' });
  await until('the first defect is kept', async () => {
    const [row] = await database.rows('select from oncehook.webhook_inbox where event_id = $1 and attempts > 0', [
      broken,
    ]);
    return row !== undefined;
  });
  await core.handle(broken).signal('replay', { by: 'ana', reason: 'hurry' });
  await untilRow(broken, 'status', 'quarantined');
  await record('defects-then-quarantined', broken);
});

/** Who recorded it, and where, is nobody's business. */
function withoutMachine(json: string): unknown {
  const text = json.replace(/"identity": *"[^"]*"/g, '"identity": "recorder"');
  expect(text).not.toContain(process.cwd());
  return JSON.parse(text) as unknown;
}

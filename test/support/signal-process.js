// Sends what is to be sent to workflows, in a process of its own that its parent kills at any moment. Compiled files
// of the product do the work: `node signal-process.js oncehook|plain`, with DATABASE_URL and TEMPORAL_ADDRESS.
import { setTimeout as sleep } from 'node:timers/promises';
import { createPerformOperation } from '../../dist/activities/perform-operation.js';
import { createPool } from '../../dist/src/db/pool.js';
import { createLogger } from '../../dist/src/observability/logger.js';
import { createMetrics } from '../../dist/src/observability/metrics.js';
import { NO_BRAKE } from '../../dist/src/operations/brake.js';
import { createOperationRegistry } from '../../dist/src/operations/registry.js';
import { signalWorkflowOperation } from '../../dist/src/providers/signal-workflow.js';
import { createTemporalClient } from '../../dist/src/temporal/connect.js';

const LANES = 14;
/** A killed attempt is waited for as long as these say together. */
const LIMITS = { attemptMs: 6_000, lookMs: 4_000, graceMs: 200, storeMs: 300 };
const [mode] = process.argv.slice(2);

const log = createLogger('silent', 'test');
const { client } = createTemporalClient({
  connection: { address: process.env.TEMPORAL_ADDRESS },
  namespace: 'default',
});
const pool = createPool({
  url: process.env.DATABASE_URL,
  applicationName: `signals ${mode}`,
  max: LANES,
  statementTimeoutMs: 5_000,
  log,
});

const performOperation = createPerformOperation({
  pool,
  registry: createOperationRegistry([signalWorkflowOperation({ client })]),
  brakeOf: () => NO_BRAKE,
  // Some attempts dwell between two steps, so that kills meet them there.
  checkpoints: () => (Math.random() < 0.05 ? sleep(Math.random() * 60) : Promise.resolve()),
  metrics: createMetrics(),
  log,
  limits: LIMITS,
});

/** Random rows, so that several processes and lanes are often at work on the same one. */
const DUE = {
  oncehook: `select operation_key as key
               from oncehook.operations
              where status in ('planned', 'sending', 'unknown')
                and (last_sent_at is null
                     or last_sent_at < now() - case status when 'sending' then 7 else 2 end * interval '1 second')
              order by random()
              limit 200`,
  plain: `select event_id as key, workflow_id, business_key
            from plain_events
           where not handled
           order by random()
           limit 200`,
};

const WORK = {
  oncehook: ({ key }) => performOperation({ operationKey: key }),
  /** As it is usually written: signal, then remember that it is done. */
  plain: async ({ key, workflow_id: workflowId, business_key: businessKey }) => {
    await client.workflow
      .getHandle(workflowId)
      .signal('arrived', businessKey)
      .catch(() => undefined);
    if (Math.random() < 0.05) await sleep(Math.random() * 60);
    await pool.query('update plain_events set handled = true where event_id = $1', [key]);
  },
};

process.on('disconnect', () => process.exit(0));

for (;;) {
  const { rows } = await pool.query(DUE[mode]);
  if (rows.length < LANES) await sleep(100);
  const lane = async () => {
    for (let row = rows.pop(); row !== undefined; row = rows.pop()) {
      await WORK[mode](row).catch(() => undefined);
      process.send('one more');
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

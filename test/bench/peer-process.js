// What oncehook's receiver is measured against: the same Express, the same signature, the same answer, in plain steps.
// `none` stores nothing; `insert` makes one INSERT a request, as most receivers do; `textbook` starts a workflow.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import express from 'express';
import pg from 'pg';

const [mode, secret, databaseUrl, temporalAddress, taskQueue] = process.argv.slice(2);

function isSigned(header, body) {
  const { t, v1 } = Object.fromEntries(header.split(',').map((part) => part.split('=')));
  const expected = createHmac('sha256', secret).update(`${t}.`).update(body).digest();
  return timingSafeEqual(expected, Buffer.from(v1, 'hex'));
}

async function createStore() {
  if (mode === 'insert') {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 8 });
    await pool.query('create table if not exists bench_events (id text primary key, payload json not null)');
    return (event, text) =>
      pool.query('insert into bench_events (id, payload) values ($1, $2) on conflict do nothing', [event.id, text]);
  }
  if (mode === 'textbook') {
    const client = new Client({ connection: await Connection.connect({ address: temporalAddress }) });
    return (event) =>
      client.workflow.start('textbook', {
        taskQueue,
        workflowId: event.id,
        args: [event.data.object.metadata.order_id],
      });
  }
  return () => Promise.resolve();
}

const store = await createStore();
const app = express();
app.post('/webhooks/stripe', express.raw({ type: () => true }), async (req, res) => {
  if (!isSigned(req.get('stripe-signature') ?? '', req.body)) return res.status(401).end();
  const text = req.body.toString();
  await store(JSON.parse(text), text);
  res.json({ status: 'accepted' });
});
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { LOCALSTRIPE, startLocalstripe, type Localstripe } from '../support/localstripe.js';
import { registerOrder, token } from '../support/payment-event.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { startSmtpSink, type SmtpSink } from '../support/smtp-sink.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

const SECRET = 'whsec_localstripe_peer';

// Skipped where localstripe is not installed: nothing of ours can stand in for a program of others.
describe.skipIf(LOCALSTRIPE === undefined)('a webhook that localstripe signs and sends', () => {
  let dir: string;
  let database: TestDatabase;
  let sink: SmtpSink;
  let services: ServiceProcess[];
  let peer: Localstripe;

  beforeAll(async () => {
    dir = openTempDir();
    database = await openDatabase();
    sink = await startSmtpSink(join(dir, 'ledger'));
    const env = {
      DATABASE_URL: database.url,
      STRIPE_WEBHOOK_SECRET: SECRET,
      SMTP_URL: sink.url,
      EMAIL_FROM: 'shop@example.com',
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_TASK_QUEUE: `peer-${token()}`,
    };
    services = await Promise.all([startService('receiver', env), startService('worker', env)]);
    peer = await startLocalstripe();
    await peer.post('/_config/webhooks/oncehook', {
      url: `http://127.0.0.1:${services[0]!.port}/webhooks/stripe`,
      secret: SECRET,
    });
  });

  afterAll(async () => {
    await peer.stop();
    await Promise.all(services.map((service) => service.stop()));
    await sink.kill();
    await database.drop();
    removeDir(dir);
  });

  it('is accepted and pays its order', async () => {
    const order = await registerOrder(database);
    const intent = await peer.post('/v1/payment_intents', {
      amount: '4200',
      currency: 'usd',
      payment_method: 'pm_card_visa',
      'metadata[order_id]': order,
    });
    await peer.post(`/v1/payment_intents/${String(intent.id)}/confirm`, {});
    await until(
      'the order is paid',
      async () => {
        const [row] = await database.rows(
          `select from oncehook.orders where id = $1 and status = 'paid' and captured_minor = 4200`,
          [order],
        );
        return row !== undefined;
      },
      30_000,
    );
    await until('its mail is sent', () => sink.accepted().length === 1, 20_000);
    const [row] = await database.rows(
      `select event_type, status, outcome from oncehook.webhook_inbox where event_type = 'payment_intent.succeeded'`,
    );
    expect(row).toEqual({ event_type: 'payment_intent.succeeded', status: 'done', outcome: 'applied' });
  });
});

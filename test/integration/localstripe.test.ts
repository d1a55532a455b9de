import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../../src/dev/ports.js';
import { registerOrder, token } from '../support/payment-event.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { startSmtpSink, type SmtpSink } from '../support/smtp-sink.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

/** Path of the `localstripe` program; `.ci/run` installs it where it can. */
const localstripe = process.env.ONCEHOOK_TEST_LOCALSTRIPE;
const SECRET = 'whsec_localstripe_peer';

/** By its own code on loopback: the program itself listens on every interface and keeps its state in a shared file. */
const SERVE = `
import sys
import localstripe.resources as resources
import localstripe.server as server
from aiohttp import web
resources.Store.dump_to_disk = lambda self: None
web.run_app(server.app, host='127.0.0.1', port=int(sys.argv[1]))
`;

// Skipped where localstripe is not installed: nothing of ours can stand in for a program of others.
describe.skipIf(localstripe === undefined)('a webhook that localstripe signs and sends', () => {
  let dir: string;
  let database: TestDatabase;
  let sink: SmtpSink;
  let services: ServiceProcess[];
  let peer: ChildProcess;
  let api: (path: string, form: Readonly<Record<string, string>>) => Promise<Record<string, unknown>>;

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
    const port = await freePort();
    peer = spawn(join(dirname(localstripe!), 'python'), ['-c', SERVE, String(port)], { stdio: 'ignore' });
    api = async (path, form) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { Authorization: 'Bearer sk_test_12345' },
        body: new URLSearchParams(form),
      });
      if (!answer.ok) throw new Error(`localstripe answered ${answer.status}: ${await answer.text()}`);
      return (await answer.json().catch(() => ({}))) as Record<string, unknown>;
    };
    await until(
      'localstripe answers',
      () =>
        fetch(`http://127.0.0.1:${port}/`).then(
          () => true,
          () => false,
        ),
      30_000,
    );
    await api('/_config/webhooks/oncehook', {
      url: `http://127.0.0.1:${services[0]!.port}/webhooks/stripe`,
      secret: SECRET,
    });
  });

  afterAll(async () => {
    peer.kill('SIGKILL');
    await once(peer, 'exit');
    await Promise.all(services.map((service) => service.stop()));
    await sink.kill();
    await database.drop();
    removeDir(dir);
  });

  it('is accepted and pays its order', async () => {
    const order = await registerOrder(database);
    const intent = await api('/v1/payment_intents', {
      amount: '4200',
      currency: 'usd',
      payment_method: 'pm_card_visa',
      'metadata[order_id]': order,
    });
    await api(`/v1/payment_intents/${String(intent.id)}/confirm`, {});
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

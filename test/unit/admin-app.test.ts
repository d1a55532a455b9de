import { Router } from 'express';
import { Registry, Counter } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { createAdminApp } from '../../src/http/admin-app.js';
import { createHttpServer, type HttpServer } from '../../src/http/http-server.js';
import { createLogger } from '../../src/observability/logger.js';
import { send } from '../support/http-client.js';

let server: HttpServer;

afterEach(async () => {
  await server.stop(0);
});

async function start(token: string | undefined): Promise<number> {
  const registry = new Registry();
  new Counter({ name: 'things_total', help: 'Things.', registers: [registry] }).inc();
  const router = Router();
  router.get('/events', (_req, res) => void res.send('events'));
  server = createHttpServer(createAdminApp({ registry, token, router, log: createLogger('silent', 'test') }));
  return server.listen('127.0.0.1', 0);
}

const get = { method: 'GET' };
const bearer = (token: string): { headers: Record<string, string> } => ({ headers: { Authorization: token } });

test('metrics are open', async () => {
  const port = await start('right');
  const answer = await send(port, { ...get, path: '/metrics' });
  expect(answer.status).toBe(200);
  expect(answer.body).toContain('things_total 1');
  expect(answer.headers['content-type']).toContain('text/plain; version=0.0.4');
  expect((await send(port, { path: '/metrics' })).status).toBe(405);
});

test.each(['', 'wrong', 'Bearer wrong', 'Bearer right2', 'bearer right', 'Basic right', 'Bearer  right'])(
  'all else is refused with the authorization "%s"',
  async (authorization) => {
    const port = await start('right');
    const answer = await send(port, { ...get, path: '/events', ...bearer(authorization) });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'unauthorized' });
    expect((await send(port, { ...get, path: '/events?token=right' })).status).toBe(401);
  },
);

test('with the token what is there is served, and what is not is not found', async () => {
  const port = await start('right');
  expect(await send(port, { ...get, path: '/events', ...bearer('Bearer right') })).toMatchObject({ body: 'events' });
  expect((await send(port, { ...get, path: '/nothing', ...bearer('Bearer right') })).status).toBe(404);
});

test('without a token nothing but the metrics exists', async () => {
  const port = await start(undefined);
  for (const authorization of ['', 'Bearer ', 'Bearer undefined']) {
    expect((await send(port, { ...get, path: '/events', ...bearer(authorization) })).status).toBe(404);
  }
  expect((await send(port, { ...get, path: '/metrics' })).status).toBe(200);
});

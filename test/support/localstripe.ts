import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { freePort } from '../../src/dev/ports.js';
import { until } from './until.js';

/** Path of the `localstripe` program; `.ci/run` installs it where it can. */
export const LOCALSTRIPE = process.env.ONCEHOOK_TEST_LOCALSTRIPE;

/** By its own code on loopback: the program itself listens on every interface and keeps its state in a shared file. */
const SERVE = `
import sys
import localstripe.resources as resources
import localstripe.server as server
from aiohttp import web
resources.Store.dump_to_disk = lambda self: None
web.run_app(server.app, host='127.0.0.1', port=int(sys.argv[1]))
`;

/** A fake of Stripe's API by others: it knows nothing of idempotency keys and refunds without bound. */
export interface Localstripe {
  readonly port: number;
  post(path: string, form: Readonly<Record<string, string>>): Promise<Record<string, unknown>>;
  get(path: string): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

const AUTHORIZED = { Authorization: 'Bearer sk_test_12345' };

/** Starts it; only where `LOCALSTRIPE` is set. */
export async function startLocalstripe(): Promise<Localstripe> {
  const port = await freePort();
  const python = join(dirname(LOCALSTRIPE!), 'python');
  const peer = spawn(python, ['-c', SERVE, String(port)], { stdio: 'ignore' });
  const base = `http://127.0.0.1:${port}`;
  const isThere = (): Promise<boolean> =>
    fetch(`${base}/`).then(
      () => true,
      () => false,
    );
  await until('localstripe answers', isThere, 30_000);
  const read = async (answer: Response): Promise<Record<string, unknown>> => {
    if (!answer.ok) throw new Error(`localstripe answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json().catch(() => ({}))) as Record<string, unknown>;
  };
  return {
    port,
    post: async (path, form) =>
      read(await fetch(`${base}${path}`, { method: 'POST', headers: AUTHORIZED, body: new URLSearchParams(form) })),
    get: async (path) => read(await fetch(`${base}${path}`, { headers: AUTHORIZED })),
    stop: async () => {
      if (peer.exitCode !== null || peer.signalCode !== null) return;
      peer.kill('SIGKILL');
      await once(peer, 'exit');
    },
  };
}

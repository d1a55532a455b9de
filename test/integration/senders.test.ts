import { renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { runCommand, type CommandResult } from '../support/run-command.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

const CONFIG = `version: 1
sources:
  stripe:
    kind: stripe
    secrets: ["\${STRIPE_OLD}", "\${STRIPE_NEW}"]
    handlers: none
  github: { kind: github, secrets: ["\${GITHUB}"] }
  standard: { kind: standard-webhooks, secrets: ["\${STANDARD}", "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="] }
  clinic:
    kind: hmac
    secrets: ["\${file:SECRET_FILE}"]
    signature: { header: X-Signature, prefix: "v0=", signed: "v0:{timestamp}:{id}:{body}", timestamp: { header: X-Timestamp, unit: ms } }
    eventId: { header: X-Event-Id }
    eventType: { header: X-Event-Type }
  paddle:
    kind: hmac
    secrets: ["\${PADDLE}"]
    signature: { header: Paddle-Signature, signed: "{timestamp}:{body}", fields: { separator: ";", timestamp: ts, signature: h1 } }
    eventId: { body: /event_id }
    eventType: { body: /event_type }
`;

let database: TestDatabase;
let dir: string;
let secretFile: string;
let env: Record<string, string>;
let receiver: ServiceProcess;

beforeAll(async () => {
  database = await openDatabase();
  dir = openTempDir();
  secretFile = join(dir, 'secret');
  writeSecret('the first secret of this clinic');
  const config = join(dir, 'oncehook.yaml');
  writeFileSync(config, CONFIG.replace('SECRET_FILE', secretFile));
  env = {
    ONCEHOOK_CONFIG: config,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    STRIPE_OLD: 'whsec_the_old_secret',
    STRIPE_NEW: 'whsec_the_new_secret',
    GITHUB: 'a secret of twenty-four bytes',
    STANDARD: `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
    STANDARD_PRIVATE: 'whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=',
    PADDLE: 'pdl_ntfset_01_secret_of_paddle',
  };
  receiver = await startService('receiver', env);
});

afterAll(async () => {
  await receiver.stop();
  await database.drop();
  removeDir(dir);
});

/** As a mounted secret is replaced: another file behind the same link. */
function writeSecret(text: string): void {
  const content = join(dir, `secret-${Math.random().toString(36).slice(2)}`);
  writeFileSync(content, `${text}\n`);
  const link = `${secretFile}.new`;
  symlinkSync(content, link);
  renameSync(link, secretFile);
}

function send(source: string, body: string, ...options: readonly string[]): Promise<CommandResult> {
  const url = `http://127.0.0.1:${receiver.port}/webhooks/${source}`;
  return runCommand(['send', source, '-', '--url', url, ...options], env, body);
}

const STRIPE_EVENT = '{"id":"evt_1","object":"event","type":"invoice.paid","livemode":false,"data":{"object":{}}}';

describe('oncehook send', () => {
  test.each([
    ['stripe', STRIPE_EVENT, [], 'stripe:default:test evt_1 invoice.paid'],
    ['github', '{"action":"opened"}', ['--type', 'issues', '--id', 'd-1'], 'github:github d-1 issues.opened'],
    ['standard', '{"type":"user.created"}', ['--id', 'msg_1'], 'standard-webhooks:standard msg_1 user.created'],
    ['clinic', '{"a":1}', ['--type', 'appointment.created', '--id', 'c-1'], 'hmac:clinic c-1 appointment.created'],
    ['paddle', '{"event_id":"ev_1","event_type":"paid"}', [], 'hmac:paddle ev_1 paid'],
  ])('signs as the sender of %s does, and a second time it is a duplicate', async (source, body, options, stored) => {
    expect(await send(source, body, ...options)).toMatchObject({ code: 0, stdout: '200 {"status":"accepted"}\n' });
    expect(await send(source, body, ...options)).toMatchObject({ code: 0, stdout: '200 {"status":"duplicate"}\n' });
    const rows = await database.rows<{ key: string }>(
      `select concat_ws(' ', source_scope, event_id, event_type) as key from oncehook.webhook_inbox where source = $1`,
      [source],
    );
    expect(rows).toEqual([{ key: stored }]);
  });

  test('signs with ed25519 for a source that has a public key', async () => {
    const options = ['--id', 'msg_2', '--sign-with', 'STANDARD_PRIVATE'];
    expect(await send('standard', '{"type":"user.deleted"}', ...options)).toMatchObject({ code: 0 });
    const refused = await send('standard', '{"type":"user.deleted"}', '--secret', '1');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('a public key (whpk_) can only verify');
  });

  test('shows what the tolerance does, and fails by its exit code', async () => {
    const { code, stdout } = await send('stripe', STRIPE_EVENT, '--age', '6m');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^401 .*invalid_signature/);
    await until('the refusal is logged', () =>
      Promise.resolve(
        receiver.lines.some(
          ({ cause, skewSeconds }) => cause === 'timestamp_out_of_tolerance' && Number(skewSeconds) <= -360,
        ),
      ),
    );
  });

  test('says what to do about a source, a file, a type or a receiver that is not there', async () => {
    const nowhere = await runCommand(['send', 'nobody', '-'], env);
    expect(nowhere).toMatchObject({ code: 3 });
    expect(nowhere.stderr).toContain('There is no source nobody; there is stripe, github, standard, clinic, paddle');
    expect(await runCommand(['send', 'stripe', join(dir, 'no.json')], env)).toMatchObject({ code: 2 });
    expect((await send('github', '{}')).stderr).toContain('add --type');
    const closed = await runCommand(
      ['send', 'stripe', '-', '--url', 'http://127.0.0.1:9/webhooks/stripe'],
      env,
      STRIPE_EVENT,
    );
    expect(closed.code).toBe(1);
    expect(closed.stderr).toContain('is a receiver running there?');
  });

  test('prints the request and sends nothing in a dry run', async () => {
    const { stdout } = await send('github', '{"dry":true}', '--type', 'push', '--dry-run');
    expect(JSON.parse(stdout)).toMatchObject({ headers: { 'x-github-event': 'push' }, body: '{"dry":true}' });
    expect(await database.rows(`select from oncehook.webhook_inbox where event_type = 'push'`)).toEqual([]);
  });
});

interface Listed {
  readonly sources: readonly {
    name: string;
    url: string;
    secrets: { position: number; lastMatchedAt: string | null }[];
  }[];
}

async function listed(): Promise<Listed['sources']> {
  const { code, stdout } = await runCommand(['sources', '--json'], env);
  expect(code).toBe(0);
  return (JSON.parse(stdout) as Listed).sources;
}

describe('rotating a secret', () => {
  test('shows in oncehook sources which secret is in use, never its text', async () => {
    const event = STRIPE_EVENT.replace('evt_1', 'evt_rotated');
    const before = (await listed()).find(({ name }) => name === 'stripe')!;
    expect(before.secrets[1]).toEqual({ position: 1, lastMatchedAt: null });
    expect(await send('stripe', event, '--secret', '1')).toMatchObject({ code: 0 });
    const after = (await listed()).find(({ name }) => name === 'stripe')!;
    expect(Date.parse(after.secrets[1]!.lastMatchedAt!)).toBeGreaterThan(Date.now() - 60_000);
    const text = await runCommand(['sources'], env);
    expect(text.stdout).toMatch(/secret 1 +last matched \d{4}/);
    for (const secret of [env.STRIPE_OLD!, env.STRIPE_NEW!, env.GITHUB!]) expect(text.stdout).not.toContain(secret);
  });

  test('sources are listed without a database too', async () => {
    const { DATABASE_URL: _none, ...without } = env;
    const { code, stdout } = await runCommand(['sources'], without);
    expect(code).toBe(0);
    expect(stdout).toMatch(/secret 0 +unknown/);
  });

  test('in a file takes effect when the file is replaced, and what a start would refuse changes nothing', async () => {
    const body = '{"n":1}';
    const options = ['--type', 'x'];
    const old = await runCommand(['send', 'clinic', '-', ...options, '--dry-run'], env, body);
    writeSecret('short');
    await until('the refusal is logged', () =>
      Promise.resolve(receiver.lines.some(({ msg }) => msg.startsWith('secrets not replaced'))),
    );
    const replay = JSON.parse(old.stdout) as { headers: Record<string, string> };
    const again = (): Promise<Response> =>
      fetch(`http://127.0.0.1:${receiver.port}/webhooks/clinic`, { method: 'POST', headers: replay.headers, body });
    expect((await again()).status).toBe(200);

    writeSecret('the second secret of this clinic');
    await until('the replacement is logged', () =>
      Promise.resolve(receiver.lines.some(({ msg }) => msg === 'secrets replaced')),
    );
    expect((await again()).status).toBe(401);
    expect(await send('clinic', body, ...options)).toMatchObject({ code: 0 });
  });

  test('is looked for at once on SIGHUP, which ends nothing', async () => {
    unlinkSync(secretFile);
    const seen = receiver.lines.length;
    receiver.signal('SIGHUP');
    await until('the signal is acted on', () =>
      Promise.resolve(
        receiver.lines
          .slice(seen)
          .some(({ trigger, msg }) => trigger === 'signal' && msg.startsWith('secrets not replaced')),
      ),
    );
    expect(await send('stripe', STRIPE_EVENT)).toMatchObject({ code: 0 });
  });
});

describe('a signature that matches no secret', () => {
  async function refuse(
    source: string,
    body: string,
    headers: Record<string, string>,
  ): Promise<Record<string, unknown>> {
    const seen = receiver.lines.length;
    const answer = await fetch(`http://127.0.0.1:${receiver.port}/webhooks/${source}`, {
      method: 'POST',
      headers,
      body,
    });
    const problem = (await answer.json()) as Record<string, unknown>;
    expect(problem).toEqual({
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      code: 'invalid_signature',
      requestId: problem.requestId,
    });
    const line = (): Record<string, unknown> | undefined =>
      receiver.lines.slice(seen).find(({ requestId }) => requestId === problem.requestId);
    await until('the refusal is logged', () => Promise.resolve(line() !== undefined));
    return line()!;
  }

  async function signedHeaders(source: string, body: string): Promise<Record<string, string>> {
    const { stdout } = await runCommand(['send', source, '-', '--dry-run'], env, body);
    return (JSON.parse(stdout) as { headers: Record<string, string> }).headers;
  }

  test.each([
    ['json_rewritten', (body: string) => JSON.stringify(JSON.parse(body))],
    ['line_break_added', (body: string) => `${body}\n`],
    ['line_ends_changed', (body: string) => body.replaceAll('\n', '\r\n')],
    ['byte_order_mark_added', (body: string) => `\ufeff${body}`],
    ['encoded_twice', (body: string) => Buffer.from(body).toString('latin1')],
  ])('tells the operator that the body was altered: %s', async (alteration, alter) => {
    const body = JSON.stringify(
      { ...JSON.parse(STRIPE_EVENT), city: 'Zürich', tags: [], sizes: [1, { a: null }] },
      null,
      2,
    );
    const line = await refuse('stripe', alter(body), await signedHeaders('stripe', body));
    expect(line).toMatchObject({ cause: 'body_altered', alteration, outcome: 'invalid_signature' });
  });

  test('tells the operator whose secret it was', async () => {
    const body = '{"event_id":"ev_2","event_type":"paid"}';
    const { 'paddle-signature': signature = '' } = await signedHeaders('paddle', body);
    const line = await refuse('clinic', body, {
      'x-signature': 'v0=00',
      'x-timestamp': '1',
      'x-event-id': 'x',
      'paddle-signature': signature,
    });
    expect(line).toMatchObject({ cause: 'secret_of_another_source', signedFor: 'paddle' });
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { neededMigrations } from '../../src/db/migrate.js';
import { idempotencyKey, workflowIdForOperation } from '../../src/domain/operation.js';
import type { UpgradeReport } from '../../src/main/upgrade-check.js';
import { sha256Hex } from '../../src/sha256.js';
import { replayOpenRuns } from '../../src/temporal/replay-open-runs.js';
import { startCoreWorker, storeEvent, SCOPE, type CoreWorker } from '../support/core-worker.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { openOlderDatabase } from '../support/older-schema.js';
import { paymentEvent, registerOrder, token } from '../support/payment-event.js';
import { runCommand } from '../support/run-command.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

const LONG_WAITS = { firstWaitMs: 600_000, maxWaitMs: 600_000, horizonMs: 3_600_000 };
const NOBODY = '127.0.0.1:1';

let dir: string;
let database: TestDatabase;
let core: CoreWorker;
let client: Client;
let env: Record<string, string>;
let changedBundle: string;
/** Workflow IDs of what stays open: one in quarantine, one that waits, an effect between attempts, one not begun. */
let open: { quarantined: string; waiting: string; operation: string; notBegun: string };

beforeAll(async () => {
  dir = openTempDir();
  database = await openDatabase();
  core = await startCoreWorker(database, { wait: LONG_WAITS });
  ({ client } = core);
  env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_TASK_QUEUE: core.taskQueue,
  };
  [open, changedBundle] = await Promise.all([openRuns(), bundleOf('changed-workflows.ts')]);
});

afterAll(async () => {
  for (const workflowId of Object.values(open)) await client.workflow.getHandle(workflowId).terminate();
  await core.stop();
  await database.drop();
  removeDir(dir);
});

async function openRuns(): Promise<typeof open> {
  const underpaid = await start(
    paymentEvent(await registerOrder(database), (event) => (event.data.object.amount_received = 1)),
  );
  const early = await start(paymentEvent(`order_${token()}`));
  const key = await startUnknownKind();
  await untilRow(`select from oncehook.webhook_inbox where event_id = $1 and status = 'quarantined'`, underpaid);
  await untilRow(`select from oncehook.webhook_inbox where event_id = $1 and last_error = 'unknown_order'`, early);
  await untilRow(`select from oncehook.operations where operation_key = $1 and last_error = 'unknown_kind'`, key);
  const quarantined = core.handle(underpaid).workflowId;
  const waiting = core.handle(early).workflowId;
  const operation = workflowIdForOperation(key, sha256Hex);
  // What the activities wrote, the runs have not heard yet.
  for (const workflowId of [quarantined, waiting, operation])
    await untilAnswered(client.workflow.getHandle(workflowId));

  const { workflowId: notBegun } = await client.workflow.start('processWebhookEvent', {
    taskQueue: core.taskQueue,
    workflowId: `never-${token()}`,
    args: [{ scope: SCOPE, eventId: 'evt_none', eventType: 't' }],
    startDelay: '1 hour',
  });
  await until(
    'all are listed',
    async () => (await client.workflow.count(`TaskQueue = "${core.taskQueue}"`)).count === 4,
  );
  return { quarantined, waiting, operation, notBegun };
}

async function start(event: { id: string; type: string }): Promise<string> {
  await core.starts.startEvent({ scope: SCOPE, ...(await storeEvent(database, event)) });
  return event.id;
}

/** An operation that no worker here can make: its run stays, and tries again. */
async function startUnknownKind(): Promise<string> {
  const key = `sms:${token()}`;
  await database.rows(
    `insert into oncehook.operations (operation_key, kind, tenant_id, params, idempotency_key)
     values ($1, 'sms', 'default', '{}', $2)`,
    [key, idempotencyKey(key, 1, sha256Hex)],
  );
  await core.starts.startOperation(key);
  return key;
}

async function untilRow(sql: string, value: string): Promise<void> {
  await until(sql, async () => (await database.rows(sql, [value])).length === 1);
}

async function untilAnswered(handle: WorkflowHandle): Promise<void> {
  await until('the run has heard', async () => {
    const { events } = await handle.fetchHistory();
    const completed = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes != null);
    return completed.length >= 2;
  });
}

async function bundleOf(file: string): Promise<string> {
  const workflowsPath = fileURLToPath(new URL(`../support/${file}`, import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  const path = join(dir, file.replace(/ts$/, 'js'));
  writeFileSync(path, code);
  return path;
}

async function check(
  args: readonly string[] = [],
  changes: Readonly<Record<string, string>> = {},
): Promise<UpgradeReport & { readonly code: number | null }> {
  const { code, stdout, stderr } = await runCommand(['upgrade', '--check', '--json', ...args], { ...env, ...changes });
  expect(stderr.replaceAll(/^oncehook: \d+ of \d+ histories\n/gm, '')).toBe('');
  return { code, ...(JSON.parse(stdout) as UpgradeReport) };
}

describe('oncehook upgrade --check', () => {
  it('finds nothing against the code that made the histories, and touches nothing', async () => {
    const before = await histories();
    const { code, stdout } = await runCommand(['upgrade', '--check'], env);
    expect(stdout).toContain('It only reads.');
    expect(stdout).toContain('3 histories replayed, 0 would fail');
    expect(stdout).toContain('1 have not begun');
    expect(stdout).toContain('(current)');
    expect(code).toBe(0);
    expect(await histories()).toEqual(before);
  });

  it('finds every run that other workflow code contradicts, and says which and why', async () => {
    const bundle = ['--workflow-bundle', changedBundle];
    const [report, printed] = await Promise.all([check(bundle), runCommand(['upgrade', '--check', ...bundle], env)]);
    expect(report).toMatchObject({ code: 1, ok: false, histories: { found: { replayed: 3, notBegun: 1 } } });
    const { failed } = found(report.histories);
    expect(failed.map(({ workflowId }) => workflowId).sort()).toEqual(
      [open.quarantined, open.waiting, open.operation].sort(),
    );
    expect(failed.find(({ workflowId }) => workflowId === open.waiting)?.reason).toMatch(/TMPRL1100/);
    expect(failed.find(({ workflowId }) => workflowId === open.operation)?.reason).toMatch(/processOperation/);
    expect(printed.code).toBe(1);
    expect(printed.stdout).toContain(`- ${open.quarantined} (run `);
    expect(printed.stdout).toContain('What to do');
    expect(printed.stdout).toContain('should not go on');
  });

  it('looks only where it is told to, and says what it left out', async () => {
    const options = { client, taskQueue: core.taskQueue, code: { workflowBundle: { codePath: changedBundle } } };
    const query = `WorkflowId = "${open.quarantined}"`;
    expect(await replayOpenRuns({ ...options, query })).toMatchObject({
      open: 1,
      replayed: 1,
      failed: [{ workflowId: open.quarantined, type: 'processWebhookEvent' }],
    });
    const limited = await replayOpenRuns({ ...options, limit: 2 });
    expect([limited.open, limited.replayed + limited.notBegun]).toEqual([4, 2]);
    // A user's own types are asked for with a bundle of the user's own.
    expect(await replayOpenRuns({ ...options, query: 'WorkflowType = "theirs"', everyType: true })).toMatchObject({
      query: `TaskQueue = "${core.taskQueue}" AND ExecutionStatus = "Running" AND (WorkflowType = "theirs")`,
      open: 0,
    });
  });

  it('does not count a run that ended while it was looked at', async () => {
    const handle = await client.workflow.start('processWebhookEvent', {
      taskQueue: core.taskQueue,
      workflowId: `ends-${token()}`,
      args: [{ scope: SCOPE, ...(await storeEvent(database, paymentEvent(`order_${token()}`))) }],
    });
    await untilAnswered(handle);
    const query = `WorkflowId = "${handle.workflowId}"`;
    await until('it is listed', async () => (await client.workflow.count(query)).count === 1);
    const options = { taskQueue: core.taskQueue, query, code: { workflowBundle: { codePath: changedBundle } } };
    expect(await replayOpenRuns({ client, ...options })).toMatchObject({ failed: [{ workflowId: handle.workflowId }] });
    const ending = endingWhenLookedAt(client);
    expect(await replayOpenRuns({ client: ending, ...options })).toMatchObject({ replayed: 1, failed: [] });
  });

  it('lists the migrations in order, applies none, and goes on for a schema of the version before', async () => {
    const last = [...(await neededMigrations())].sort().at(-1)!;
    const older = await openOlderDatabase((migration) => migration !== last);
    expect(await check([], { DATABASE_URL: older.url })).toMatchObject({
      code: 0,
      schema: { found: { state: 'behind', pending: [last] } },
    });
    const rows = await older.rows<{ name: string }>('select name from oncehook.schema_migrations');
    expect(rows.map(({ name }) => name)).not.toContain(last);
    await older.drop();
  });

  it('says what cannot be reached and what to do about it, and still looks at the rest', async () => {
    const [withoutTemporal, withoutPostgres, otherNamespace] = await Promise.all([
      check([], { TEMPORAL_ADDRESS: NOBODY }),
      check([], { DATABASE_URL: `postgres://nobody@${NOBODY}/none` }),
      check([], { TEMPORAL_NAMESPACE: 'nowhere' }),
    ]);
    expect(withoutTemporal).toMatchObject({ code: 1, ok: false, schema: { found: { state: 'current' } } });
    expect(problem(withoutTemporal.histories)).toMatch(/TEMPORAL_ADDRESS right\?/);
    expect(withoutPostgres).toMatchObject({ code: 1, ok: false, histories: { found: { replayed: 3 } } });
    expect(problem(withoutPostgres.schema)).toMatch(/DATABASE_URL right\?/);
    expect(problem(otherNamespace.histories)).toMatch(/TEMPORAL_NAMESPACE right\?/);
  });

  it('is told to do what cannot be done', async () => {
    const run = (...args: readonly string[]) => runCommand(['upgrade', ...args], env);
    const broken = join(dir, 'broken.js');
    writeFileSync(broken, 'this is no bundle');
    const [plain, brokenBundle, noBundle, badQuery, noDatabase] = await Promise.all([
      run(),
      run('--check', '--workflow-bundle', broken),
      run('--check', '--workflow-bundle', 'none.js'),
      run('--check', '--query', 'Nonsense = 1'),
      runCommand(['upgrade', '--check'], { TEMPORAL_ADDRESS: env.TEMPORAL_ADDRESS! }),
    ]);
    expect(plain.stderr).toMatch(
      /1\. oncehook upgrade --check[^]*2\. oncehook migrate[^]*3\. [^\n]*workers[^]*4\. [^\n]*receivers/,
    );
    expect(brokenBundle.stderr).toContain('The workflow bundle does not load');
    expect(noBundle.stderr).toContain('there is no file none.js');
    expect(badQuery.stderr).toContain('--query: Temporal refuses it');
    expect(noDatabase.stderr).toContain('DATABASE_URL');
    expect([plain, noBundle, badQuery, noDatabase].map(({ code }) => code)).toEqual([2, 2, 2, 2]);
    expect(brokenBundle.code).toBe(1);
  });
});

function found<Found>(half: { readonly checked: boolean; readonly found?: Found }): Found {
  expect(half.checked).toBe(true);
  return half.found!;
}

function problem(half: { readonly checked: boolean; readonly problem?: string }): string | undefined {
  expect(half.checked).toBe(false);
  return half.problem;
}

async function histories(): Promise<readonly number[]> {
  return Promise.all(
    Object.values(open).map(async (id) => {
      const { events } = await client.workflow.getHandle(id).fetchHistory();
      return events?.length ?? 0;
    }),
  );
}

/** Whoever asks for a run's status finds that it ended a moment ago. */
function endingWhenLookedAt(real: Client): Client {
  const workflow = Object.create(real.workflow, {
    getHandle: {
      value: (...args: Parameters<Client['workflow']['getHandle']>) => {
        const handle = real.workflow.getHandle(...args);
        const describeEnded = async () => {
          await handle.terminate('ended meanwhile');
          return handle.describe();
        };
        return { ...handle, describe: describeEnded };
      },
    },
  }) as Client['workflow'];
  return Object.create(real, { workflow: { value: workflow } }) as Client;
}

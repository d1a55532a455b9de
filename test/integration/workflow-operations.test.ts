import { randomBytes } from 'node:crypto';
import { Client, Connection, defaultPayloadConverter } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import type { CheckpointHook } from '../../src/checkpoints.js';
import {
  signalWorkflow,
  signalWorkflowOperation,
  startWorkflow,
  startWorkflowOperation,
  type AnyOperationDefinition,
  type EventKey,
  type PlannedOperation,
} from '../../src/index.js';
import { createTemporalClient } from '../../src/temporal/connect.js';
import { openOperationsBench, type OperationsBench, type PerformOptions } from '../support/operations-bench.js';
import { until } from '../support/until.js';
import { openOwnTemporal } from '../support/own-servers.js';
import { attemptUntilSettled, deathAt, type Attempt } from '../support/settle-attempts.js';

const TENANT = { tenant: 't1' };
const EVENT: EventKey = { scope: 'stripe:acct_1:test', eventId: 'evt_1' };
const HOUR_MS = 3_600_000;
/** Temporal's number of the command, `CommandType` in its API. */
const CONTINUE_AS_NEW = 10;
/** Nobody polls it: what is started here stands still. */
const QUEUE = 'nobody-polls-this';

let bench: OperationsBench;
let connection: Connection;
let client: Client;
let definitions: readonly AnyOperationDefinition[];

beforeAll(async () => {
  bench = await openOperationsBench();
  connection = await Connection.connect({ address: inject('temporalAddress') });
  client = new Client({ connection });
  definitions = [startWorkflowOperation({ client }), signalWorkflowOperation({ client })];
});
afterAll(async () => {
  await connection.close();
  await bench.close();
});
beforeEach(async () => {
  await bench.pool.query('truncate oncehook.operations, oncehook.operation_pauses');
});

const newId = (): string => `order-${randomBytes(6).toString('hex')}`;

async function plan(operation: PlannedOperation, event: EventKey | null = EVENT): Promise<string> {
  const planned = await bench.plan([operation], { definitions, event });
  expect(planned).toMatchObject({ kind: 'planned' });
  return operation.key;
}

function attemptOf(key: string, options: Partial<PerformOptions> = {}): Attempt {
  const perform = bench.performer({ definitions, ...options });
  return () => perform({ operationKey: key });
}

/** Attempts until it is settled; what may be alive is taken for dead. */
function settle(key: string, options: Partial<PerformOptions> = {}): Promise<string> {
  return attemptUntilSettled(bench, key, attemptOf(key, options));
}

async function startByHand(workflowId: string, workflowType = 'order'): Promise<string> {
  const { firstExecutionRunId } = await client.workflow.start(workflowType, { workflowId, taskQueue: QUEUE });
  return firstExecutionRunId;
}

/** A client whose first signal is carried out; that answer is lost, and its own further calls end with this status. */
function losingFirstAnswer(grpcCode: number): Client {
  const lost = Object.assign(new Error('from the server'), {
    code: grpcCode,
    details: '',
    metadata: { get: () => [] },
  });
  const signalWorkflowExecution = async (request: object): Promise<never> => {
    await client.workflowService.signalWorkflowExecution(request);
    throw lost;
  };
  const workflowService: unknown = Object.create(client.workflowService, {
    signalWorkflowExecution: { value: signalWorkflowExecution },
  });
  return Object.create(client, { workflowService: { value: workflowService } }) as Client;
}

/** Starts a workflow that continues as new twice, by what a worker would tell the server. */
async function continueTwice(workflowId: string): Promise<void> {
  const taskQueue = `${workflowId}-continues`;
  await client.workflow.start('order', { workflowId, taskQueue });
  const { workflowService } = client;
  for (let round = 0; round < 2; round += 1) {
    const poll = { namespace: 'default', taskQueue: { name: taskQueue }, identity: 'test' };
    const { taskToken } = await client.withDeadline(Date.now() + 20_000, () =>
      workflowService.pollWorkflowTaskQueue(poll),
    );
    const command: object = {
      commandType: CONTINUE_AS_NEW,
      continueAsNewWorkflowExecutionCommandAttributes: {
        workflowType: { name: 'order' },
        taskQueue: { name: taskQueue },
      },
    };
    await workflowService.respondWorkflowTaskCompleted({
      namespace: 'default',
      taskToken,
      identity: 'test',
      commands: [command],
    });
  }
}

const valuesOf = (
  payloads: Parameters<typeof defaultPayloadConverter.fromPayload>[0][] | null | undefined,
): unknown[] => (payloads ?? []).map((payload) => defaultPayloadConverter.fromPayload(payload));

/** What the signals in a run's history carry. */
async function signalsIn(workflowId: string, runId?: string): Promise<readonly unknown[]> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
    signal ? valuesOf(signal.input?.payloads) : [],
  );
}

async function startInput(workflowId: string): Promise<readonly unknown[]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  return valuesOf(events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads);
}

async function runsOf(workflowId: string): Promise<number> {
  return (await client.workflow.count(`WorkflowId = '${workflowId.replaceAll("'", "''")}'`)).count;
}

const start = (workflowId: string, more: { readonly args?: readonly unknown[] } = {}): PlannedOperation =>
  startWorkflow({ workflowType: 'order', workflowId, taskQueue: QUEUE, ...more }, TENANT);
const signal = (workflowId: string, more: Partial<Parameters<typeof signalWorkflow>[0]> = {}): PlannedOperation =>
  signalWorkflow({ workflowId, key: 'payment:o_1', ...more }, TENANT);

describe('start_workflow', () => {
  test('starts it with the key of the event that called for it first, and nothing of its payload', async () => {
    const id = newId();
    const key = await plan(start(id));
    expect(await settle(key)).toBe('confirmed');
    const { runId, type } = await client.workflow.getHandle(id).describe();
    expect(type).toBe('order');
    expect(await bench.read(key)).toMatchObject({ provider_reference: runId, attempts: 1 });
    expect(await startInput(id)).toEqual([EVENT]);
  });

  test('is one operation, and one start, for all events that call for it', async () => {
    const id = newId();
    const key = await plan(start(id));
    await plan(start(id), { ...EVENT, eventId: 'evt_2' });
    await Promise.all([attemptOf(key)(), attemptOf(key)()]);
    expect(await settle(key)).toBe('confirmed');
    expect(await startInput(id)).toEqual([EVENT]);
  });

  test('takes arguments of the user, and none where no event called for it', async () => {
    const [given, none] = [newId(), newId()];
    await settle(await plan(start(given, { args: ['o_1', { total: 4200 }] })));
    expect(await startInput(given)).toEqual(['o_1', { total: 4200 }]);
    await settle(await plan(start(none), null));
    expect(await startInput(none)).toEqual([]);
  });

  test('that finds it started by somebody else is content, also when it has ended', async () => {
    const id = newId();
    const runId = await startByHand(id);
    const key = await plan(start(id));
    expect(await settle(key)).toBe('confirmed');
    expect(await bench.read(key)).toMatchObject({ provider_reference: runId });

    const ended = newId();
    const endedRun = await startByHand(ended);
    await client.workflow.getHandle(ended).terminate();
    expect(await settle(await plan(start(ended)))).toBe('confirmed');
    expect((await client.workflow.getHandle(ended).describe()).runId).toBe(endedRun);
  });

  test('is refused where the ID is that of a workflow of another type', async () => {
    const id = newId();
    await startByHand(id, 'somethingElse');
    const key = await plan(start(id));
    expect(await settle(key)).toBe('refused');
    expect(await bench.read(key)).toMatchObject({ last_error: 'workflow_id_taken', attempts: 1 });
  });

  test('is judged alike when the other one is started just before the send', async () => {
    const start2 = async (workflowType: string): Promise<string> => {
      const id = newId();
      const checkpoints: CheckpointHook = async (name) => {
        if (name === 'operation.intent-stored') await startByHand(id, workflowType);
      };
      return settle(await plan(start(id)), { checkpoints });
    };
    expect(await start2('order')).toBe('confirmed');
    expect(await start2('somethingElse')).toBe('refused');
  });

  test.each(['operation.intent-stored', 'operation.answered'] as const)(
    'starts once when its worker dies at %s',
    async (point) => {
      const id = newId();
      const key = await plan(start(id));
      expect(await settle(key, { checkpoints: deathAt(point) })).toBe('confirmed');
      await until('it can be listed', async () => (await runsOf(id)) > 0);
      expect(await runsOf(id)).toBe(1);
      expect(await bench.read(key)).toMatchObject({
        attempts: point === 'operation.answered' ? 1 : 2,
        provider_reference: (await client.workflow.getHandle(id).describe()).runId,
      });
    },
  );

  test('is left to a person when its answer was lost so long ago that Temporal may have forgotten it', async () => {
    const id = newId();
    const key = await plan(start(id));
    const attempt = attemptOf(key, { checkpoints: deathAt('operation.intent-stored') });
    await expect(attempt()).rejects.toThrow();
    await bench.age(key, 25 * HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(key)).toMatchObject({ last_error: 'past_retention' });
  });
  test('is refused where Temporal takes no such ID', async () => {
    const key = await plan({ ...start('ü'.repeat(900)), key: 'start-workflow:t1:long' });
    expect(await settle(key)).toBe('refused');
    expect(await bench.read(key)).toMatchObject({ last_error: 'invalid_argument' });
  });
});

describe('signal_workflow', () => {
  test('waits for a workflow that is not there yet', async () => {
    const id = newId();
    const key = await plan(signal(id));
    expect(await attemptOf(key)()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await attemptOf(key)()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await bench.read(key)).toMatchObject({ last_error: 'workflow_not_found', lost_answers: 0 });
    await startByHand(id);
    expect(await attemptOf(key)()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(await signalsIn(id)).toEqual([{ key: 'payment:o_1', payload: EVENT }]);
  });

  test('that has waited in vain is left to a person', async () => {
    const key = await plan(signal(newId()));
    await attemptOf(key)();
    await bench.age(key, 72 * HOUR_MS);
    expect(await attemptOf(key)()).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(key)).toMatchObject({ last_error: 'workflow_not_found' });
  });

  test('is one operation, and one signal, for all events that call for it', async () => {
    const id = newId();
    await startByHand(id);
    const key = await plan(signal(id));
    await plan(signal(id), { ...EVENT, eventId: 'evt_2' });
    await Promise.all([attemptOf(key)(), attemptOf(key)(), attemptOf(key)()]);
    expect(await settle(key)).toBe('confirmed');
    expect(await signalsIn(id)).toEqual([{ key: 'payment:o_1', payload: EVENT }]);
  });

  test('carries what the user wants, under the name that the user wants', async () => {
    const id = newId();
    await startByHand(id);
    expect(await settle(await plan(signal(id, { payload: null, signal: 'paid' })))).toBe('confirmed');
    const { events } = await client.workflow.getHandle(id).fetchHistory();
    const names = events?.flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? []);
    expect(names).toEqual(['paid']);
    expect(await signalsIn(id)).toEqual([{ key: 'payment:o_1', payload: null }]);
  });

  test("goes through the client's data converter", async () => {
    const codec: PayloadCodec = {
      encode: (payloads) =>
        Promise.resolve(
          payloads.map(({ data = null }) => ({ metadata: { encoding: Buffer.from('test/hidden') }, data })),
        ),
      decode: (payloads) => Promise.resolve(payloads),
    };
    const hiding = new Client({ connection, dataConverter: { payloadCodecs: [codec] } });
    const kinds = [signalWorkflowOperation({ client: hiding })];
    const id = newId();
    const key = await plan(signal(id, { start: { workflowType: 'order', taskQueue: QUEUE, args: [1] } }));
    expect(await settle(key, { definitions: kinds })).toBe('confirmed');
    const { events } = await client.workflow.getHandle(id).fetchHistory();
    const sent = events?.flatMap((event) => [
      ...(event.workflowExecutionStartedEventAttributes?.input?.payloads ?? []),
      ...(event.workflowExecutionSignaledEventAttributes?.input?.payloads ?? []),
    ]);
    expect(sent?.map(({ metadata }) => String(metadata?.encoding))).toEqual(['test/hidden', 'test/hidden']);
  });

  test('is refused where the workflow has ended', async () => {
    const id = newId();
    await startByHand(id);
    await client.workflow.getHandle(id).terminate();
    for (const operation of [
      signal(id),
      signal(id, { key: 'other', start: { workflowType: 'order', taskQueue: QUEUE } }),
    ]) {
      const key = await plan(operation);
      expect(await settle(key)).toBe('refused');
      expect(await bench.read(key)).toMatchObject({ last_error: 'workflow_closed' });
    }
  });

  test('is refused alike when the workflow ends just before the send', async () => {
    const ended = async (more: Partial<Parameters<typeof signalWorkflow>[0]>): Promise<unknown> => {
      const id = newId();
      await startByHand(id);
      const key = await plan(signal(id, more));
      const checkpoints: CheckpointHook = async (name) => {
        if (name === 'operation.intent-stored') await client.workflow.getHandle(id).terminate();
      };
      await settle(key, { checkpoints });
      const { status, last_error } = await bench.read(key);
      return { status, last_error };
    };
    const refused = { status: 'refused', last_error: 'workflow_closed' };
    expect(await ended({})).toEqual(refused);
    expect(await ended({ start: { workflowType: 'order', taskQueue: QUEUE } })).toEqual(refused);
  });

  test.each(['operation.intent-stored', 'operation.answered'] as const)(
    'arrives once when its worker dies at %s',
    async (point) => {
      const id = newId();
      await startByHand(id);
      const key = await plan(signal(id));
      expect(await settle(key, { checkpoints: deathAt(point) })).toBe('confirmed');
      expect(await signalsIn(id)).toHaveLength(1);
      // Sent twice: Temporal dropped the second.
      expect(await bench.read(key)).toMatchObject({ attempts: 2 });
    },
  );

  test('is found where its answer was lost and the workflow has ended since', async () => {
    const id = newId();
    await startByHand(id);
    const key = await plan(signal(id));
    const attempt = attemptOf(key, { checkpoints: deathAt('operation.answered') });
    await expect(attempt()).rejects.toThrow();
    await client.workflow.getHandle(id).terminate();
    expect(await attemptUntilSettled(bench, key, attempt)).toBe('confirmed');
  });

  test("is found where its answer was lost and another workflow of this ID has begun: it gets none of the first one's", async () => {
    const id = `o'brien ${newId()}`;
    await startByHand(id);
    const key = await plan(signal(id));
    const attempt = attemptOf(key, { checkpoints: deathAt('operation.answered') });
    await expect(attempt()).rejects.toThrow();
    await client.workflow.getHandle(id).terminate();
    await startByHand(id);
    // As it is long before an attempt of a dead worker is looked at.
    await until('both runs can be listed', async () => (await runsOf(id)) === 2);
    expect(await attemptUntilSettled(bench, key, attempt)).toBe('confirmed');
    expect(await signalsIn(id)).toEqual([]);
  });

  test.each([
    ['is throttled', 8, 'temporal_busy'],
    ['is rejected', 7, 'permission_denied'],
  ])(
    'is found where the client called again after a lost answer, the last call %s, and another workflow has begun',
    async (_what, grpcCode, code) => {
      const id = newId();
      await startByHand(id);
      const key = await plan(signal(id));
      const kinds = [signalWorkflowOperation({ client: losingFirstAnswer(grpcCode) })];
      expect(await attemptOf(key, { definitions: kinds })()).toMatchObject({ kind: 'again' });
      expect(await bench.read(key)).toMatchObject({ last_error: code });
      await client.workflow.getHandle(id).terminate();
      await startByHand(id);
      await until('both runs can be listed', async () => (await runsOf(id)) === 2);
      expect(await settle(key)).toBe('confirmed');
      expect(await signalsIn(id)).toEqual([]);
    },
  );

  test('is found where its answer was lost, and another workflow of this ID has begun and continued as new', async () => {
    const id = newId();
    await startByHand(id);
    const key = await plan(signal(id));
    const attempt = attemptOf(key, { checkpoints: deathAt('operation.answered') });
    await expect(attempt()).rejects.toThrow();
    await client.workflow.getHandle(id).terminate();
    await continueTwice(id);
    await until('all runs can be listed', async () => (await runsOf(id)) === 4);
    expect(await attemptUntilSettled(bench, key, attempt)).toBe('confirmed');
    expect(await signalsIn(id)).toEqual([]);
  });

  test('is sent again where its answer was lost before it went out, whatever has begun and continued since', async () => {
    const id = newId();
    await startByHand(id);
    const key = await plan(signal(id));
    const attempt = attemptOf(key, { checkpoints: deathAt('operation.intent-stored') });
    await expect(attempt()).rejects.toThrow();
    await client.workflow.getHandle(id).terminate();
    await continueTwice(id);
    await until('all runs can be listed', async () => (await runsOf(id)) === 4);
    expect(await attemptUntilSettled(bench, key, attempt)).toBe('confirmed');
    expect(await signalsIn(id)).toHaveLength(1);
  });

  test('reaches the workflow that begins after an attempt was lost: there was none that could have had it', async () => {
    const id = newId();
    const key = await plan(signal(id));
    const attempt = attemptOf(key, { checkpoints: deathAt('operation.answered') });
    await expect(attempt()).rejects.toThrow();
    await startByHand(id);
    expect(await attemptUntilSettled(bench, key, attempt)).toBe('confirmed');
    expect(await signalsIn(id)).toHaveLength(1);
  });

  test('with `start` starts a workflow that was never there, and signals one that is', async () => {
    const id = newId();
    const begin = { workflowType: 'order', taskQueue: QUEUE, workflowExecutionTimeoutMs: 90_500 };
    const first = await plan(signal(id, { start: begin }));
    expect(await settle(first, { checkpoints: deathAt('operation.answered') })).toBe('confirmed');
    expect(await settle(await plan(signal(id, { key: 'refund:o_1', start: begin })))).toBe('confirmed');
    expect(await startInput(id)).toEqual([EVENT]);
    expect(await signalsIn(id)).toEqual([
      { key: 'payment:o_1', payload: EVENT },
      { key: 'refund:o_1', payload: EVENT },
    ]);
    const { raw } = await client.workflow.getHandle(id).describe();
    expect(Number(raw.executionConfig?.workflowExecutionTimeout?.seconds)).toBe(90);
  });

  test('is left to a person when its answer was lost so long ago that Temporal may have forgotten the workflow', async () => {
    const key = await plan(signal(newId(), { start: { workflowType: 'order', taskQueue: QUEUE } }));
    const attempt = attemptOf(key, { checkpoints: deathAt('operation.intent-stored') });
    await expect(attempt()).rejects.toThrow();
    await bench.age(key, 25 * HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(key)).toMatchObject({ last_error: 'past_retention' });
  });

  test('is refused where it carries more than Temporal takes', async () => {
    const id = newId();
    await startByHand(id);
    const key = await plan(signal(id, { payload: 'x'.repeat(2_200_000) }));
    expect(await settle(key)).toBe('refused');
    expect(await bench.read(key)).toMatchObject({ last_error: 'too_large' });
  });

  test('is left to a person where its answer was lost, another workflow has begun, and the first cannot be found', async () => {
    const id = `"${newId()}"`;
    await startByHand(id);
    const key = await plan(signal(id));
    const attempt = attemptOf(key, { checkpoints: deathAt('operation.answered') });
    await expect(attempt()).rejects.toThrow();
    await client.workflow.getHandle(id).terminate();
    await startByHand(id);
    expect(await attemptUntilSettled(bench, key, attempt)).toBe('parked');
    expect(await bench.read(key)).toMatchObject({ last_error: 'history_unclear' });
  });

  test('waits, with an alarm, for a namespace that is not there', async () => {
    const lost = new Client({ connection, namespace: 'nowhere' });
    const kinds = [startWorkflowOperation({ client: lost }), signalWorkflowOperation({ client: lost })];
    const log: string[] = [];
    for (const key of [await plan(signal(newId())), await plan(start(newId()))]) {
      const result = await attemptOf(key, { definitions: kinds, log })();
      expect(result).toMatchObject({ kind: 'again', status: 'unknown' });
      expect(await bench.read(key)).toMatchObject({ last_error: 'namespace_not_found' });
    }
    expect(log.filter((line) => line.includes('until its configuration is mended'))).toHaveLength(2);
  });
});

describe('kinds of one’s own', () => {
  const SHIPPING = 'shipping';
  const kind = { start: 'start_shipping', signal: 'signal_shipping' };
  let shipping: Client;
  let kinds: readonly AnyOperationDefinition[];

  beforeAll(async () => {
    await client.workflowService.registerNamespace({
      namespace: SHIPPING,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    shipping = new Client({ connection, namespace: SHIPPING });
    // Servers hear of a new namespace some seconds later.
    const isThere = (): Promise<boolean> =>
      shipping.workflow.count().then(
        () => true,
        () => false,
      );
    await until('the namespace can be used', isThere, 60_000);
    kinds = [
      ...definitions,
      startWorkflowOperation({ kind: kind.start, client: shipping }),
      signalWorkflowOperation({ kind: kind.signal, client: shipping }),
    ];
  }, 90_000);

  test('act in the namespace of their client, beside the built-in ones', async () => {
    const id = newId();
    const here = { workflowType: 'order', workflowId: id, taskQueue: QUEUE };
    const wake = { workflowId: id, key: 'paid' };
    const operations = [
      startWorkflow(here, TENANT),
      signalWorkflow(wake, TENANT),
      startWorkflow({ ...here, args: ['o_1'] }, TENANT, { kind: kind.start }),
      signalWorkflow({ ...wake, payload: 'there' }, TENANT, { kind: kind.signal }),
    ];
    expect(operations.map(({ key }) => key)).toEqual([
      `start-workflow:t1:${id}`,
      `signal-workflow:t1:${id}:paid`,
      `start-shipping:t1:${id}`,
      `signal-shipping:t1:${id}:paid`,
    ]);
    expect(await bench.plan(operations, { definitions: kinds, event: EVENT })).toMatchObject({ kind: 'planned' });
    for (const { key } of operations) {
      const checkpoints = deathAt('operation.answered');
      expect(await settle(key, { definitions: kinds, checkpoints })).toBe('confirmed');
    }
    expect(await signalsIn(id)).toEqual([{ key: 'paid', payload: EVENT }]);
    const { events } = await shipping.workflow.getHandle(id).fetchHistory();
    expect(valuesOf(events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads)).toEqual(['o_1']);
    const there = events?.flatMap(({ workflowExecutionSignaledEventAttributes: sent }) =>
      sent ? valuesOf(sent.input?.payloads) : [],
    );
    expect(there).toEqual([{ key: 'paid', payload: 'there' }]);
  });

  test('look in that namespace where an answer was lost', async () => {
    const id = newId();
    await shipping.workflow.start('order', { workflowId: id, taskQueue: QUEUE });
    const wake = signalWorkflow({ workflowId: id, key: 'k' }, TENANT, { kind: kind.signal });
    const { key } = wake;
    await bench.plan([wake], { definitions: kinds, event: EVENT });
    const attempt = attemptOf(key, { definitions: kinds, checkpoints: deathAt('operation.answered') });
    await expect(attempt()).rejects.toThrow();
    await shipping.workflow.getHandle(id).terminate();
    expect(await attemptUntilSettled(bench, key, attempt)).toBe('confirmed');
  });

  test('have lower snake case for a name', () => {
    expect(() => signalWorkflowOperation({ kind: 'signal-shipping', client })).toThrow(TypeError);
  });
});

describe('brakes', () => {
  test('a pause of the kind or the tenant holds a signal back, and it goes on when the pause is lifted', async () => {
    const id = newId();
    await startByHand(id);
    const key = await plan(signal(id));
    await bench.pool.query(
      `insert into oncehook.operation_pauses (kind, requested_by, reason) values ('signal_workflow', 'ana', 'INC-1')`,
    );
    expect(await attemptOf(key)()).toMatchObject({ kind: 'again', status: 'planned' });
    await bench.pool.query(`update oncehook.operation_pauses set kind = '*', tenant_id = 't1'`);
    expect(await attemptOf(key)()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await signalsIn(id)).toEqual([]);
    await bench.pool.query(`update oncehook.operation_pauses set tenant_id = 't2'`);
    expect(await attemptOf(key)()).toMatchObject({ status: 'confirmed' });
  });

  test('a cap per hour holds for both kinds, each by itself', async () => {
    const brake = { perHour: 1 };
    const [first, second] = [newId(), newId()];
    const starts = [await plan(start(first)), await plan(start(second))];
    for (const key of starts) await attemptOf(key, { brake })();
    const signals = [await plan(signal(first)), await plan(signal(first, { key: 'refund:o_1' }))];
    for (const key of signals) await attemptOf(key, { brake })();
    const states = await Promise.all([...starts, ...signals].map(async (key) => (await bench.read(key)).status));
    expect(states).toEqual(['confirmed', 'proposed', 'confirmed', 'proposed']);
    expect(await signalsIn(first)).toHaveLength(1);
  });

  test('propose and off hold, and a cap on amounts holds everything back: there is no amount', async () => {
    const id = newId();
    await startByHand(id);
    const key = await plan(signal(id));
    expect(await attemptOf(key, { brake: { maxAmountMinor: 1 } })()).toMatchObject({ status: 'proposed' });
    expect(await bench.read(key)).toMatchObject({ last_error: 'amount_unknown' });
    const off = await plan(signal(id, { key: 'other' }));
    expect(await attemptOf(off, { brake: { mode: 'off' } })()).toMatchObject({ status: 'refused' });
    expect(await signalsIn(id)).toEqual([]);
  });
});

describe('Temporal that is down', () => {
  test('leaves attempts in doubt, which are cleared up afterwards', { timeout: 90_000 }, async () => {
    const own = await openOwnTemporal();
    const settings = { connection: { address: own.address }, namespace: 'default' };
    const { client: ownClient, close } = createTemporalClient(settings);
    const kinds = [startWorkflowOperation({ client: ownClient }), signalWorkflowOperation({ client: ownClient })];
    try {
      const id = newId();
      await ownClient.workflow.start('order', { workflowId: id, taskQueue: QUEUE });
      const before = await plan(signal(id));
      await own.kill();
      const down = attemptOf(before, { definitions: kinds });
      expect(await down()).toMatchObject({ kind: 'again', status: 'unknown' });
      expect(await down()).toMatchObject({ kind: 'again', status: 'unknown' });
      expect(await bench.read(before)).toMatchObject({ last_error: 'temporal_unavailable', lost_answers: 1 });

      await own.start();
      expect(await settle(before, { definitions: kinds })).toBe('confirmed');

      const amid = await plan(signal(id, { key: 'refund:o_1' }));
      const checkpoints: CheckpointHook = (name) =>
        name === 'operation.intent-stored' ? own.kill() : Promise.resolve();
      expect(await attemptOf(amid, { definitions: kinds, checkpoints })()).toMatchObject({
        kind: 'again',
        status: 'unknown',
      });
      await own.start();
      expect(await settle(amid, { definitions: kinds })).toBe('confirmed');

      const { events } = await ownClient.workflow.getHandle(id).fetchHistory();
      expect(events?.filter((event) => event.workflowExecutionSignaledEventAttributes)).toHaveLength(2);
    } finally {
      await close();
      await own.remove();
    }
  });
});

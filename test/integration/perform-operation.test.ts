import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CheckpointHook, CheckpointName } from '../../src/checkpoints.js';
import { CheckpointError } from '../../src/errors.js';
import {
  defineOperation,
  type AnyOperationDefinition,
  type OperationAnswer,
  type OperationAttempt,
  type OperationDefinition,
  type ReconcileAnswer,
  type UnknownPolicy,
} from '../../src/index.js';
import { anyParams } from '../support/any-params.js';
import { createGate } from '../support/gate.js';
import { openOperationsBench, type OperationsBench, type PerformOptions } from '../support/operations-bench.js';
import { DEAD_MS, deathAt } from '../support/settle-attempts.js';
import { until } from '../support/until.js';

type Params = Readonly<Record<string, unknown>>;

const KEY = 'note:1';
const HOUR_MS = 3_600_000;

let bench: OperationsBench;

beforeAll(async () => {
  bench = await openOperationsBench();
});
afterAll(() => bench.close());
beforeEach(async () => {
  await bench.pool.query('truncate oncehook.operations, oncehook.operation_pauses');
});

/** The other side: what it was asked to do, and what it answers; the last answer repeats. */
function otherSide(...answers: (OperationAnswer | Error | (() => Promise<OperationAnswer>))[]) {
  const calls: OperationAttempt<Params>[] = [];
  const perform = async (attempt: OperationAttempt<Params>): Promise<OperationAnswer> => {
    const answer = answers[Math.min(calls.length, answers.length - 1)];
    calls.push(attempt);
    if (answer instanceof Error || answer === undefined) throw answer ?? new Error('no answer scripted');
    return typeof answer === 'function' ? answer() : answer;
  };
  return { calls, perform };
}

function kind(
  perform: OperationDefinition<Params>['perform'],
  onUnknown: UnknownPolicy,
  more: Partial<OperationDefinition<Params>> = {},
): AnyOperationDefinition {
  return defineOperation<Params>({
    kind: 'note',
    params: anyParams,
    perform,
    classify: () => ({ kind: 'unknown', code: 'thrown' }),
    onUnknown,
    ...more,
  });
}

const CONFIRMED: OperationAnswer = { kind: 'confirmed', reference: 'ref_1' };
const REFUSED: OperationAnswer = { kind: 'refused', code: 'no_way' };
const NOT_SENT: OperationAnswer = { kind: 'notSent', code: 'not_now' };
const UNKNOWN: OperationAnswer = { kind: 'unknown', code: 'lost' };

async function plan(definition: AnyOperationDefinition, params: Params = {}): Promise<void> {
  await bench.plan([{ kind: definition.kind, key: KEY, params }], { definitions: [definition] });
}

/** Plans one operation of this kind, and gives one attempt at a time. */
async function planned(definition: AnyOperationDefinition, options: Omit<PerformOptions, 'definitions'> = {}) {
  await plan(definition);
  const perform = bench.performer({ ...options, definitions: [definition] });
  return () => perform({ operationKey: KEY });
}

describe('an attempt', () => {
  test('confirms, keeps the reference, and is not made twice', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    const attempt = await planned(kind(perform, 'hold'));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls).toHaveLength(1);
    const row = await bench.read(KEY);
    expect(row).toMatchObject({ status: 'confirmed', attempts: 1, last_error: null, provider_reference: 'ref_1' });
    expect(row.settled_at).not.toBeNull();
  });

  test('has what the row holds, and its intent is committed before the call', async () => {
    let seen: unknown;
    const definition = kind(async () => {
      seen = await bench.read(KEY);
      return CONFIRMED;
    }, 'hold');
    const { calls, perform } = otherSide(() => definition.perform(undefined as never));
    const attempt = await planned(kind(perform, 'hold'));
    await attempt();
    expect(seen).toMatchObject({ status: 'sending', attempts: 1 });
    expect(calls[0]).toMatchObject({ operationKey: KEY, tenant: 't1', params: {}, message: null });
    expect(calls[0]?.idempotencyKey).toMatch(/^oncehook:[0-9a-f]{40}:1$/);
  });

  test('that is refused ends there', async () => {
    const { calls, perform } = otherSide(REFUSED);
    const attempt = await planned(kind(perform, 'resend'));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'refused' });
    await attempt();
    expect(calls).toHaveLength(1);
    expect(await bench.read(KEY)).toMatchObject({ status: 'refused', last_error: 'no_way' });
  });

  test('that had no effect comes again, later each time, a minute before the sweeper', async () => {
    const { calls, perform } = otherSide(NOT_SENT, NOT_SENT, CONFIRMED);
    const attempt = await planned(kind(perform, 'hold'));
    const first = await attempt();
    if (first.kind !== 'again') throw new Error('expected another attempt');
    expect(first.delayMs).toBeGreaterThanOrEqual(1_500);
    expect(first.delayMs).toBeLessThanOrEqual(2_000);
    expect(Math.abs((await bench.read(KEY)).due_in_ms - first.delayMs - 60_000)).toBeLessThan(2_000);
    const second = await attempt();
    expect(second).toMatchObject({ kind: 'again', status: 'planned' });
    expect(second.kind === 'again' && second.delayMs).toBeGreaterThan(first.delayMs);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls.map(({ idempotencyKey }) => idempotencyKey)).toEqual(Array(3).fill(calls[0]?.idempotencyKey));
  });

  test('that had no effect for too long is refused', async () => {
    const { perform } = otherSide(NOT_SENT);
    const attempt = await planned(kind(perform, 'hold', { giveUpAfterMs: HOUR_MS }));
    expect(await attempt()).toMatchObject({ kind: 'again' });
    await bench.age(KEY, HOUR_MS - 30_000);
    expect(await attempt()).toMatchObject({ kind: 'again' });
    await bench.age(KEY, 30_000);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'refused' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'gave_up' });
  });

  test('however late the first one comes, it is made', async () => {
    const { perform } = otherSide(NOT_SENT);
    const attempt = await planned(kind(perform, 'hold', { giveUpAfterMs: HOUR_MS }));
    await bench.pool.query(`update oncehook.operations set created_at = created_at - interval '30 days'`);
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
  });

  test('that throws means what the kind says it means', async () => {
    const { perform } = otherSide(new Error('boom'));
    const attempt = await planned(kind(perform, 'hold', { classify: () => REFUSED }));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'refused' });
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['text', 'confirmed'],
    ['another kind', { kind: 'done' }],
    ['an inherited name', { kind: 'toString' }],
  ])('that answers nonsense (%s) is an attempt whose answer was lost', async (_what, answer) => {
    const { perform } = otherSide(answer as OperationAnswer);
    const attempt = await planned(kind(perform, 'hold'));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
  });

  test("the other side's words are kept nowhere", async () => {
    const log: string[] = [];
    const words = 'card 4242 of Ada was declined';
    const answers = [
      { kind: 'notSent', code: words },
      { kind: 'confirmed', reference: words },
    ] as OperationAnswer[];
    const { perform } = otherSide(...answers);
    const attempt = await planned(kind(perform, 'hold'), { log });
    await attempt();
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'unnamed' });
    await attempt();
    expect(await bench.read(KEY)).toMatchObject({ status: 'confirmed', provider_reference: null });
    expect(log.join('')).not.toContain('4242');
    expect(log).toHaveLength(2);
  });

  test('a fault of configuration is an error each time it is met', async () => {
    const log: string[] = [];
    const { perform } = otherSide({ kind: 'notSent', code: 'bad_password', configuration: true });
    const attempt = await planned(kind(perform, 'hold'), { log });
    await attempt();
    expect(log.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ level: 'error', operationKey: KEY, code: 'bad_password' }),
    ]);
  });

  test('that does not end is aborted, then given up as unknown', async () => {
    let aborted = false;
    const attempt = await planned(
      kind(
        ({ signal }) =>
          new Promise(() => {
            signal.addEventListener('abort', () => {
              aborted = true;
            });
          }),
        'hold',
      ),
      { limits: { attemptMs: 1_000, graceMs: 200 } },
    );
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(aborted).toBe(true);
  });

  test('that answers between the abort and the end of its grace is believed', async () => {
    const definition = kind(
      ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            resolve(NOT_SENT);
          });
        }),
      'hold',
    );
    const attempt = await planned(definition, { limits: { attemptMs: 1_000, graceMs: 4_000 } });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
  });

  test('of an operation that is not there says so', async () => {
    const attempt = bench.performer({ definitions: [kind(otherSide(CONFIRMED).perform, 'hold')] });
    expect(await attempt({ operationKey: 'note:nothing' })).toEqual({ kind: 'missing' });
  });

  test('without its kind in this worker waits for one that has it', async () => {
    const { perform } = otherSide(CONFIRMED);
    const definition = kind(perform, 'hold');
    await plan(definition);
    const old = bench.performer({ definitions: [] });
    expect(await old({ operationKey: KEY })).toEqual({ kind: 'again', status: 'planned', delayMs: 60_000 });
    expect(await bench.read(KEY)).toMatchObject({ status: 'planned', last_error: 'unknown_kind' });
    const current = bench.performer({ definitions: [definition] });
    expect(await current({ operationKey: KEY })).toEqual({ kind: 'settled', status: 'confirmed' });
  });

  test('whose stored parameters no longer suit the kind is parked, not guessed at', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    await plan(kind(perform, 'hold'));
    const validate = () => ({ issues: [{ message: 'changed' }] });
    const stricter = kind(perform, 'hold', { params: { '~standard': { version: 1, vendor: 'test', validate } } });
    const attempt = bench.performer({ definitions: [stricter] });
    expect(await attempt({ operationKey: KEY })).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'params_invalid' });
    expect(calls).toEqual([]);
  });

  test('of a kind that was switched off meanwhile is refused', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    await plan(kind(perform, 'resend'));
    const attempt = bench.performer({ definitions: [kind(perform, 'resend', { enabled: () => false })] });
    expect(await attempt({ operationKey: KEY })).toEqual({ kind: 'settled', status: 'refused' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'switched_off' });
    expect(calls).toEqual([]);
  });
});

describe('a brake', () => {
  const pause = (tenant: string): Promise<unknown> =>
    bench.pool.query(
      `insert into oncehook.operation_pauses (kind, tenant_id, requested_by, reason) values ('note', $1, 'ada', 'test')`,
      [tenant],
    );

  test.each(['t1', '*'])('for tenant %s holds everything back until it is lifted', async (tenant) => {
    const { calls, perform } = otherSide(CONFIRMED);
    const attempt = await planned(kind(perform, 'hold'));
    await pause(tenant);
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(calls).toEqual([]);
    await bench.pool.query('truncate oncehook.operation_pauses');
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
  });

  test('for another tenant holds nothing back', async () => {
    const attempt = await planned(kind(otherSide(CONFIRMED).perform, 'hold'));
    await pause('t2');
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
  });

  test('put on between the look at the row and the intent still holds', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    const checkpoints: CheckpointHook = async (name) => {
      if (name === 'operation.before-intent') await pause('*');
    };
    const attempt = await planned(kind(perform, 'hold'), { checkpoints });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    expect(calls).toEqual([]);
  });
});

describe('a message', () => {
  /** Builds other bytes each time, as a build with a clock or a random boundary in it would. */
  function preparing(builds: string[], more: Partial<OperationDefinition<Params>> = {}) {
    return {
      prepare: () => {
        builds.push(`build ${builds.length + 1}`);
        return Promise.resolve({ bytes: Buffer.from(builds.at(-1) ?? ''), messageId: `<${builds.length}@x>` });
      },
      ...more,
    };
  }

  test('is built once and every attempt sends those bytes', async () => {
    const builds: string[] = [];
    const { calls, perform } = otherSide(NOT_SENT, UNKNOWN, CONFIRMED);
    const attempt = await planned(kind(perform, 'resend', preparing(builds)));
    for (let round = 0; round < 3; round += 1) await attempt();
    expect(builds).toEqual(['build 1']);
    const stored = { bytes: Buffer.from('build 1'), messageId: '<1@x>' };
    expect(calls.map(({ message }) => message)).toEqual([stored, stored, stored]);
    expect(await bench.read(KEY)).toMatchObject({ message: stored.bytes, message_id: stored.messageId });
  });

  test('built by a worker that died before its intent is built again and nobody knows the other', async () => {
    const builds: string[] = [];
    const { calls, perform } = otherSide(CONFIRMED);
    const attempt = await planned(kind(perform, 'hold', preparing(builds)), {
      checkpoints: deathAt('operation.before-intent'),
    });
    await expect(attempt()).rejects.toThrow(CheckpointError);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls).toHaveLength(1);
  });

  test('that cannot be built is refused when the kind says so, before anything is sent', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    const prepare = (): Promise<never> => Promise.reject(new Error('bad address'));
    const attempt = await planned(kind(perform, 'resend', { prepare, classify: () => REFUSED }));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'refused' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'no_way', attempts: 0 });
    expect(calls).toEqual([]);
  });

  test.each<[string, OperationDefinition<Params>['prepare']]>([
    ['throws', () => Promise.reject(new TypeError('a fault'))],
    ['builds nothing', () => Promise.resolve({ bytes: Buffer.alloc(0), messageId: '<1@x>' })],
    ['names it by an injection', () => Promise.resolve({ bytes: Buffer.from('x'), messageId: '<1@x>\r\nBcc: v' })],
    ['returns nothing', () => Promise.resolve(undefined as never)],
  ])('whose builder %s is parked for whoever can mend it', async (_what, prepare) => {
    const { calls, perform } = otherSide(CONFIRMED);
    const attempt = await planned(kind(perform, 'resend', prepare === undefined ? {} : { prepare }));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'prepare_failed' });
    expect(calls).toEqual([]);
  });
});

describe('after an attempt that died', () => {
  test.each<[CheckpointName, number]>([
    ['operation.before-intent', 1],
    ['operation.intent-stored', 1],
    ['operation.answered', 2],
    ['operation.answer-stored', 1],
  ])('at %s, resend makes it %i time(s) in all', async (point, times) => {
    const { calls, perform } = otherSide(CONFIRMED);
    const attempt = await planned(kind(perform, 'resend'), { checkpoints: deathAt(point) });
    await expect(attempt()).rejects.toThrow(CheckpointError);
    await bench.age(KEY, DEAD_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls).toHaveLength(times);
    expect(await bench.read(KEY)).toMatchObject({ status: 'confirmed' });
  });

  test.each<[CheckpointName, string, number]>([
    ['operation.before-intent', 'confirmed', 1],
    ['operation.intent-stored', 'parked', 0],
    ['operation.answered', 'parked', 1],
    ['operation.answer-stored', 'confirmed', 1],
  ])('at %s, hold ends %s and made it %i time(s)', async (point, status, times) => {
    const { calls, perform } = otherSide(CONFIRMED);
    const attempt = await planned(kind(perform, 'hold'), { checkpoints: deathAt(point) });
    await expect(attempt()).rejects.toThrow(CheckpointError);
    await bench.age(KEY, DEAD_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status });
    expect(calls).toHaveLength(times);
  });

  test('the next one waits while it may still be alive', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    const attempt = await planned(kind(perform, 'resend'), { checkpoints: deathAt('operation.answered') });
    await expect(attempt()).rejects.toThrow(CheckpointError);
    const next = await attempt();
    expect(next).toMatchObject({ kind: 'again', status: 'sending' });
    // The bench's limits: 5 s for the attempt, 0.5 s of grace, 1 s to store.
    expect(next.kind === 'again' && next.delayMs).toBeGreaterThan(5_000);
    expect(next.kind === 'again' && next.delayMs).toBeLessThanOrEqual(6_500);
    expect(calls).toHaveLength(1);
  });

  test('resend stops for an operator after eight lost answers', async () => {
    const { calls, perform } = otherSide(UNKNOWN);
    const attempt = await planned(kind(perform, 'resend'));
    for (let round = 1; round < 8; round += 1) {
      expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    }
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(calls).toHaveLength(8);
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'outcome_unknown', lost_answers: 8 });
  });
});

describe('two attempts at once', () => {
  test.each(['hold', 'resend', 'reconcile'] as const)('make it once while both are healthy (%s)', async (policy) => {
    const gate = createGate();
    const { calls, perform } = otherSide(async () => {
      await gate.pass();
      return CONFIRMED;
    });
    const reconcile = (): Promise<ReconcileAnswer> => Promise.resolve({ kind: 'absent' });
    const attempt = await planned(kind(perform, policy, { reconcile }));
    const answers: string[] = [];
    const all = Array.from({ length: 3 }, () => attempt().then(({ kind }) => answers.push(kind)));
    await until('the other two have given way', () => answers.length === 2);
    gate.open();
    await Promise.all(all);
    expect(answers).toEqual(['again', 'again', 'settled']);
    expect(calls).toHaveLength(1);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
  });

  test('under hold make it at most once, and the late answer of the first still counts', async () => {
    const gate = createGate();
    const { calls, perform } = otherSide(async () => {
      await gate.pass();
      return CONFIRMED;
    });
    const attempt = await planned(kind(perform, 'hold'));
    const first = attempt();
    await gate.reached;
    await bench.age(KEY, DEAD_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    gate.open();
    expect(await first).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls).toHaveLength(1);
    expect(await bench.read(KEY)).toMatchObject({ status: 'confirmed', last_error: null, lost_answers: 0 });
  });

  test.each<[string, OperationAnswer, object]>([
    ['had no effect frees it again', NOT_SENT, { status: 'planned', lost_answers: 0 }],
    ['was refused refuses it', REFUSED, { status: 'refused', last_error: 'no_way' }],
    ['is still unknown leaves it parked', UNKNOWN, { status: 'parked', last_error: 'outcome_unknown' }],
  ])('under hold: a first one that late turns out to have been parked too early and %s', async (_what, answer, row) => {
    const gate = createGate();
    const { perform } = otherSide(async () => {
      await gate.pass();
      return answer;
    });
    const attempt = await planned(kind(perform, 'hold'));
    const first = attempt();
    await gate.reached;
    await bench.age(KEY, DEAD_MS);
    await attempt();
    gate.open();
    await first;
    expect(await bench.read(KEY)).toMatchObject(row);
  });

  test('of which the first slept past its time: it wakes, sends nothing, and says so', async () => {
    const gate = createGate();
    const { calls, perform } = otherSide(CONFIRMED);
    const definition = kind(perform, 'hold');
    const checkpoints: CheckpointHook = (name) =>
      name === 'operation.intent-stored' ? gate.pass() : Promise.resolve();
    const sleeper = await planned(definition, { checkpoints, limits: { attemptMs: 100, graceMs: 50 } });
    const other = bench.performer({ definitions: [definition] });
    const first = sleeper();
    await gate.reached;
    await bench.age(KEY, DEAD_MS);
    expect(await other({ operationKey: KEY })).toEqual({ kind: 'settled', status: 'parked' });
    await new Promise((resolve) => setTimeout(resolve, 150)); // The first one's time must pass on its own clock.
    gate.open();
    expect(await first).toMatchObject({ kind: 'again', status: 'planned' });
    expect(calls).toEqual([]);
    expect(await other({ operationKey: KEY })).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls).toHaveLength(1);
  });

  /** Attempt 1 hangs in its call; attempt 2 answers; then attempt 1 answers. */
  async function lateAnswer(
    first: OperationAnswer,
    second: OperationAnswer,
    more: Partial<OperationDefinition<Params>> = {},
  ) {
    const gate = createGate();
    const { calls, perform } = otherSide(async () => {
      await gate.pass();
      return first;
    }, second);
    const attempt = await planned(kind(perform, 'resend', more));
    const late = attempt();
    await gate.reached;
    await bench.age(KEY, DEAD_MS);
    const early = await attempt();
    gate.open();
    return { calls, early, late: await late, row: await bench.read(KEY), attempt };
  }

  test('a late confirmation is the truth over what a newer attempt could not tell', async () => {
    for (const second of [NOT_SENT, UNKNOWN, { kind: 'park', code: 'ask_ada' } as const]) {
      await bench.pool.query('truncate oncehook.operations');
      const { late, row, attempt, calls } = await lateAnswer(CONFIRMED, second);
      expect(late).toEqual({ kind: 'settled', status: 'confirmed' });
      expect(row).toMatchObject({ status: 'confirmed', last_error: null, attempts: 2 });
      await attempt();
      expect(calls).toHaveLength(2);
    }
  });

  test.each([NOT_SENT, REFUSED, UNKNOWN])("a late $kind does not touch a newer attempt's answer", async (first) => {
    const { late, row } = await lateAnswer(first, CONFIRMED);
    expect(late).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(row).toMatchObject({ status: 'confirmed', last_error: null, provider_reference: 'ref_1' });
  });

  test('a late refusal says nothing while a newer attempt is not settled', async () => {
    const { late, row } = await lateAnswer(REFUSED, NOT_SENT);
    expect(late).toMatchObject({ kind: 'again', status: 'unknown' });
    expect(row).toMatchObject({ status: 'unknown', last_error: 'not_now' });
  });

  test('a late confirmation does not reopen what was settled', async () => {
    const { late, row } = await lateAnswer(CONFIRMED, REFUSED, { keyTtlMs: HOUR_MS });
    expect(late).toEqual({ kind: 'settled', status: 'refused' });
    expect(row).toMatchObject({ status: 'refused', last_error: 'no_way' });
  });

  test('an answer to an earlier generation says nothing of this one', async () => {
    const gate = createGate();
    const { perform } = otherSide(async () => {
      await gate.pass();
      return CONFIRMED;
    });
    const attempt = await planned(kind(perform, 'hold'));
    const late = attempt();
    await gate.reached;
    await bench.pool.query(
      `update oncehook.operations
          set generation = 2, status = 'planned', first_sent_at = null, last_sent_at = null,
              idempotency_key = idempotency_key || '2'`,
    );
    gate.open();
    expect(await late).toMatchObject({ kind: 'again', status: 'planned' });
    expect(await bench.read(KEY)).toMatchObject({ status: 'planned', provider_reference: null });
  });
});

describe('a kind that is sent again under a key', () => {
  const KEY_TTL = { keyTtlMs: 24 * HOUR_MS, giveUpAfterMs: 72 * HOUR_MS };

  test('is parked when its answer was lost and the other side came back after it forgot the key', async () => {
    const { calls, perform } = otherSide(UNKNOWN, NOT_SENT, NOT_SENT, CONFIRMED);
    const attempt = await planned(kind(perform, 'resend', KEY_TTL));
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    for (const hours of [10, 9]) {
      await bench.age(KEY, hours * HOUR_MS);
      expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    }
    await bench.age(KEY, 11 * HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'outcome_unknown', attempts: 3, lost_answers: 1 });
    expect(calls).toHaveLength(3);
  });

  test('is sent when the other side was never reached, for as long as it is tried', async () => {
    const { calls, perform } = otherSide(NOT_SENT, CONFIRMED);
    const attempt = await planned(kind(perform, 'resend', KEY_TTL));
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
    await bench.age(KEY, 30 * HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls).toHaveLength(2);
  });
});

describe('a kind that can look', () => {
  /** The other side's memory. */
  function looking(...answers: (ReconcileAnswer | Error)[]) {
    const looks: unknown[] = [];
    const reconcile = (look: { readonly firstSentAt: Date | null }): Promise<ReconcileAnswer> => {
      const answer = answers[Math.min(looks.length, answers.length - 1)] ?? { kind: 'absent' as const };
      looks.push(look.firstSentAt);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    return { looks, reconcile };
  }
  const ABSENT: ReconcileAnswer = { kind: 'absent' };
  const FOUND: ReconcileAnswer = { kind: 'found', reference: 'ref_found' };
  const KEY_TTL = { keyTtlMs: 24 * HOUR_MS };

  test('looks before the first send too, and adopts what is there: a plan made again after a restore', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    const { looks, reconcile } = looking(FOUND);
    const attempt = await planned(kind(perform, 'reconcile', { reconcile, ...KEY_TTL }));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(await bench.read(KEY)).toMatchObject({ provider_reference: 'ref_found', attempts: 0 });
    expect(looks).toEqual([null]);
    expect(calls).toEqual([]);
  });

  test('sends what is not there', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    const { looks, reconcile } = looking(ABSENT);
    const attempt = await planned(kind(perform, 'reconcile', { reconcile, ...KEY_TTL }));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect([looks.length, calls.length]).toEqual([1, 1]);
  });

  test('resolves a lost answer by looking: found', async () => {
    const { calls, perform } = otherSide(UNKNOWN);
    const { reconcile } = looking(ABSENT, FOUND);
    const attempt = await planned(kind(perform, 'reconcile', { reconcile, ...KEY_TTL }));
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls).toHaveLength(1);
  });

  test('resolves a lost answer by looking: absent and young, so the same key again', async () => {
    const { calls, perform } = otherSide(UNKNOWN, CONFIRMED);
    const { reconcile } = looking(ABSENT);
    const attempt = await planned(kind(perform, 'reconcile', { reconcile, ...KEY_TTL }));
    await attempt();
    await bench.age(KEY, 19 * HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls).toHaveLength(2);
    expect(calls[1]?.idempotencyKey).toBe(calls[0]?.idempotencyKey);
  });

  test('absent and old: looked for, never sent, at last parked', async () => {
    const { calls, perform } = otherSide(UNKNOWN);
    const { looks, reconcile } = looking(ABSENT);
    const attempt = await planned(kind(perform, 'reconcile', { reconcile, ...KEY_TTL }));
    await attempt();
    await bench.age(KEY, 21 * HOUR_MS);
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    await bench.age(KEY, 3 * HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'outcome_unknown' });
    expect([looks.length, calls.length]).toEqual([3, 1]);
  });

  test.each<[string, ReconcileAnswer | Error, string]>([
    ['unknown', { kind: 'unknown', code: 'rate_limited' }, 'rate_limited'],
    ['an error', new Error('reset'), 'look_failed'],
    ['nonsense', { kind: 'perhaps' } as unknown as ReconcileAnswer, 'answer_nonsense'],
  ])('that gets %s from its look sends nothing and looks later', async (_what, seen, code) => {
    const { calls, perform } = otherSide(CONFIRMED);
    const { reconcile } = looking(seen, seen, ABSENT);
    const attempt = await planned(kind(perform, 'reconcile', { reconcile, ...KEY_TTL }));
    const first = await attempt();
    const second = await attempt();
    expect(first).toMatchObject({ kind: 'again', status: 'planned' });
    expect(second.kind === 'again' && first.kind === 'again' && second.delayMs > first.delayMs).toBe(true);
    expect(await bench.read(KEY)).toMatchObject({ status: 'planned', last_error: code, attempts: 2 });
    expect(calls).toEqual([]);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
  });

  test('whose look hangs is not waited for', async () => {
    const reconcile = (): Promise<ReconcileAnswer> => new Promise(() => undefined);
    const attempt = await planned(kind(otherSide(CONFIRMED).perform, 'reconcile', { reconcile, ...KEY_TTL }), {
      limits: { lookMs: 100, graceMs: 50 },
    });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'planned' });
  });

  test('may see by its look what only a human can decide', async () => {
    const { reconcile } = looking({ kind: 'park', code: 'two_found' });
    const attempt = await planned(kind(otherSide(CONFIRMED).perform, 'reconcile', { reconcile, ...KEY_TTL }));
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(await bench.read(KEY)).toMatchObject({ last_error: 'two_found' });
  });

  test('without a key sends again only what is proven not to have happened', async () => {
    const { calls, perform } = otherSide(NOT_SENT, UNKNOWN);
    const { reconcile } = looking(ABSENT);
    const attempt = await planned(kind(perform, 'reconcile', { reconcile }));
    await attempt();
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    expect(await attempt()).toMatchObject({ kind: 'again', status: 'unknown' });
    await bench.age(KEY, HOUR_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'parked' });
    expect(calls).toHaveLength(2);
  });

  test('that died in its attempt looks before anything else', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    const { reconcile } = looking(ABSENT, FOUND);
    const attempt = await planned(kind(perform, 'reconcile', { reconcile, ...KEY_TTL }), {
      checkpoints: deathAt('operation.answered'),
    });
    await expect(attempt()).rejects.toThrow(CheckpointError);
    await bench.age(KEY, DEAD_MS);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
    expect(calls).toHaveLength(1);
  });
});

describe('a database that fails', () => {
  /** A pool whose next statements that match fail as given; the statement itself is carried out when `after`. */
  function failing(pattern: RegExp, times: number, when: 'before' | 'after'): pg.Pool {
    let left = times;
    return new Proxy(bench.pool, {
      get: (target, name, receiver) => {
        if (name !== 'query') return Reflect.get(target, name, receiver) as unknown;
        return async (text: string, values: unknown[]) => {
          const fails = pattern.test(text) && left > 0;
          if (fails) left -= 1;
          if (fails && when === 'before') throw new Error('Connection terminated unexpectedly');
          const result = await target.query(text, values);
          if (fails) throw new Error('Connection terminated unexpectedly');
          return result;
        };
      },
    });
  }
  const STORE = /set status = \$4/;

  test.each(['before', 'after'] as const)(
    'for a moment, %s the answer was stored: the answer is not lost',
    async (when) => {
      for (const [answer, status] of [
        [CONFIRMED, 'confirmed'],
        [NOT_SENT, 'planned'],
        [UNKNOWN, 'parked'],
      ] as const) {
        await bench.pool.query('truncate oncehook.operations');
        const { calls, perform } = otherSide(answer);
        const attempt = await planned(kind(perform, 'hold'), { pool: failing(STORE, 1, when) });
        expect(await attempt()).toMatchObject({ status });
        expect(calls).toHaveLength(1);
        expect(await bench.read(KEY)).toMatchObject({ status });
      }
    },
  );

  test('for longer than that: the attempt fails as infrastructure and the row says that it may have happened', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    const attempt = await planned(kind(perform, 'hold'), {
      pool: failing(STORE, 100, 'before'),
      limits: { storeMs: 500 },
    });
    await expect(attempt()).rejects.toThrow('Connection terminated');
    expect(await bench.read(KEY)).toMatchObject({ status: 'sending' });
    expect(calls).toHaveLength(1);
  });

  test('before the intent is committed: nothing is sent', async () => {
    const { calls, perform } = otherSide(CONFIRMED);
    const attempt = await planned(kind(perform, 'hold'), { pool: failing(/set status = 'sending'/, 1, 'before') });
    await expect(attempt()).rejects.toThrow('Connection terminated');
    expect(calls).toEqual([]);
    expect(await attempt()).toEqual({ kind: 'settled', status: 'confirmed' });
  });
});

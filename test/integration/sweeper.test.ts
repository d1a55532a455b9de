import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inertCheckpoints } from '../../src/checkpoints.js';
import type { ProcessWebhookEventInput } from '../../src/domain/event.js';
import { createSweeper, type Sweeper, type SweeperDeps } from '../../src/maintenance/sweeper.js';
import { createLogger } from '../../src/observability/logger.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { openDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
let started: ProcessWebhookEventInput[];

beforeEach(async () => {
  database = await openDatabase();
  started = [];
});

afterEach(async () => {
  await database.drop();
});

function sweeper(changed: Partial<SweeperDeps> = {}): Sweeper {
  return createSweeper({
    pool: database.pool,
    startEvent: (event) => {
      started.push(event);
      return Promise.resolve();
    },
    startOperation: () => Promise.resolve(),
    claimOperations: () => Promise.resolve([]),
    returnOperations: () => Promise.resolve(),
    isUnanswered: () => true,
    failedTaskAttempts: () => Promise.resolve(0),
    giveUpOnRun: () => Promise.resolve(),
    checkpoints: inertCheckpoints,
    log: createLogger('silent', 'test'),
    metrics: createMetrics(),
    ...changed,
  });
}

interface Row {
  readonly scope?: string;
  readonly id: string;
  readonly status?: 'pending' | 'done' | 'quarantined';
  /** Seconds from now at which it is due; negative when it is overdue. */
  readonly dueIn?: number;
  /** Seconds since its first dispatch. */
  readonly dispatchedAgo?: number;
}

async function put(...rows: readonly Row[]): Promise<void> {
  for (const { scope = 's', id, status = 'pending', dueIn = -1, dispatchedAgo } of rows) {
    await database.pool.query(
      `insert into oncehook.webhook_inbox
              (source_scope, event_id, source, event_type, status, outcome, reason, completed_at, request_id,
               signed_sha256, secret_position, next_attempt_at, dispatched_at)
       values ($1, $2, 'stripe', 't', $3, case when $3 = 'done' then 'applied' end,
               case when $3 = 'quarantined' then 'r' end, case when $3 = 'done' then now() end, 'r',
               decode(repeat('00', 32), 'hex'), 0, now() + $4 * interval '1 second', now() - $5 * interval '1 second')`,
      [scope, id, status, dueIn, dispatchedAgo ?? null],
    );
  }
}

/** Seconds from now until the row is due again. */
async function dueIn(id: string): Promise<number> {
  const [row] = await database.rows<{ seconds: number }>(
    `select extract(epoch from next_attempt_at - now())::float8 as seconds from oncehook.webhook_inbox where event_id = $1`,
    [id],
  );
  return row!.seconds;
}

const ids = (): string[] => started.map(({ eventId }) => eventId);

describe('the sweeper', () => {
  it('starts what is pending and due, and nothing else', async () => {
    await put(
      { id: 'overdue' },
      { id: 'due-now', dueIn: 0 },
      { id: 'soon', dueIn: 2 },
      { id: 'done', status: 'done' },
      { id: 'quarantined', status: 'quarantined' },
    );
    expect(await sweeper().runOnce(10)).toEqual({ events: 2, operations: 0, started: 2, returned: 0 });
    expect(ids()).toEqual(['overdue', 'due-now']);
    expect(started[0]).toEqual({ scope: 's', eventId: 'overdue', eventType: 't' });
  });

  it('moves a claim on by the time since the first dispatch, at least 30 s, at most 10 min', async () => {
    await put(
      { id: 'never' },
      { id: 'recently', dispatchedAgo: 10 },
      { id: 'a-while', dispatchedAgo: 120 },
      { id: 'long-ago', dispatchedAgo: 86_400 },
    );
    await sweeper().runOnce(10);
    expect(Math.round(await dueIn('never'))).toBe(30);
    expect(Math.round(await dueIn('recently'))).toBe(30);
    expect(Math.round(await dueIn('a-while'))).toBe(120);
    expect(Math.round(await dueIn('long-ago'))).toBe(600);
    const [row] = await database.rows(`select from oncehook.webhook_inbox where dispatched_at is null`);
    expect(row).toBeUndefined();
  });

  it('starts the oldest first and no more than its limit', async () => {
    await put({ id: 'c', dueIn: -1 }, { id: 'a', dueIn: -3 }, { id: 'b', dueIn: -2 });
    await sweeper().runOnce(2);
    expect(ids()).toEqual(['a', 'b']);
  });

  it('is fair between scopes, also over several looks', async () => {
    const flood = Array.from({ length: 50 }, (_, index) => ({ scope: 'flood', id: `f${index}`, dueIn: -100 }));
    await put(...flood, { scope: 'quiet', id: 'q1' }, { scope: 'small', id: 's1' });
    const looks = sweeper();
    await looks.runOnce(6);
    expect(new Set(started.map(({ scope }) => scope))).toEqual(new Set(['flood', 'quiet', 'small']));
    expect(started.filter(({ scope }) => scope === 'flood')).toHaveLength(2);
  });

  it('takes scopes in turn when there are more of them than it may start', async () => {
    await put(...['a', 'b', 'c', 'd', 'e'].map((scope) => ({ scope, id: `of-${scope}` })));
    const looks = sweeper();
    await looks.runOnce(2);
    await looks.runOnce(2);
    await looks.runOnce(2);
    expect(ids().sort()).toEqual(['of-a', 'of-b', 'of-c', 'of-d', 'of-e']);
  });

  it('shares the work with another sweeper: no row is claimed twice', async () => {
    await put(...Array.from({ length: 60 }, (_, index) => ({ id: `e${index}` })));
    await Promise.all(Array.from({ length: 6 }, () => sweeper().runOnce(10)));
    await sweeper().runOnce(60);
    expect(ids()).toHaveLength(60);
    expect(new Set(ids()).size).toBe(60);
  });

  it('passes by what another transaction holds, without waiting', async () => {
    await put({ id: 'held' }, { id: 'free' });
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query(`select from oncehook.webhook_inbox where event_id = 'held' for update`);
    await sweeper().runOnce(10);
    await holder.query('rollback');
    holder.release();
    expect(ids()).toEqual(['free']);
  });

  it('gives claims back that Temporal did not answer, all of them, due at once', async () => {
    await put(...Array.from({ length: 20 }, (_, index) => ({ id: `e${index}` })));
    let asked = 0;
    const down = sweeper({
      startEvent: () => {
        asked += 1;
        return Promise.reject(new Error('unavailable'));
      },
    });
    expect(await down.runOnce(20)).toMatchObject({ events: 20, started: 0, returned: 20 });
    expect(asked).toBeLessThanOrEqual(8);
    expect(await dueIn('e7')).toBeLessThanOrEqual(0);
    expect(await sweeper().runOnce(20)).toMatchObject({ started: 20 });
  });

  it('keeps the claim of a single start that was refused, so that it does not hold up the others', async () => {
    await put({ id: 'bad', dueIn: -5 }, { id: 'good' });
    const picky = sweeper({
      isUnanswered: () => false,
      startEvent: (event) => {
        if (event.eventId === 'bad') return Promise.reject(new Error('invalid argument'));
        started.push(event);
        return Promise.resolve();
      },
    });
    expect(await picky.runOnce(10)).toMatchObject({ started: 1, returned: 0 });
    expect(ids()).toEqual(['good']);
    expect(await dueIn('bad')).toBeGreaterThan(25);
  });

  it('ends a run whose workflow task keeps failing, from the tenth attempt on, and only one that it met before', async () => {
    await put({ id: 'ninth', dispatchedAgo: 60 }, { id: 'tenth', dispatchedAgo: 60 }, { id: 'fresh' });
    const ended: string[] = [];
    await sweeper({
      failedTaskAttempts: ({ eventId }) => Promise.resolve(eventId === 'ninth' ? 9 : 10),
      giveUpOnRun: ({ eventId }) => {
        ended.push(eventId);
        return Promise.resolve();
      },
    }).runOnce(10);
    expect(ended).toEqual(['tenth']);
  });

  it('finds the due rows of a scope by the index, in order, however many there are', async () => {
    await database.pool.query(
      `insert into oncehook.webhook_inbox
              (source_scope, event_id, source, event_type, request_id, signed_sha256, secret_position, next_attempt_at)
       select 'big', 'e' || n, 'stripe', 't', 'r', decode(repeat('00', 32), 'hex'), 0, now() - n * interval '1 millisecond'
         from generate_series(1, 100000) n`,
    );
    await database.pool.query('analyze oncehook.webhook_inbox');
    expect(await sweeper().runOnce(25)).toMatchObject({ events: 25, started: 25 });
    const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(
      `explain (format text)
       select i.event_id from oncehook.webhook_inbox i
        where i.status = 'pending' and i.source_scope = 'big' and i.next_attempt_at <= now()
        order by i.next_attempt_at, i.event_id limit 25 for update skip locked`,
    );
    const plan = rows.map((line) => line['QUERY PLAN']).join('\n');
    expect(plan).toContain('webhook_inbox_due');
    expect(plan).not.toContain('Sort');
  });
});

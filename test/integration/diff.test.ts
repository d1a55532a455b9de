import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compareDecisions, type DecisionDiff, type DiffRequest } from '../../src/admin/compare-decisions.js';
import { parseViewName } from '../../src/admin/view-name.js';
import type { ShadowOutcome } from '../../src/domain/shadow.js';
import { ROOT } from '../support/dist.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { token } from '../support/payment-event.js';
import { runCommand, type CommandResult } from '../support/run-command.js';

const SCOPE = 'stripe:acct_1:live';

let database: TestDatabase;
beforeAll(async () => {
  database = await openDatabase();
  await database.pool.query(`
    create schema app;
    create table app.handled (
      event_id text, source_scope text, outcome text, effects text[], handled_at timestamptz not null default now());
    create view app.outcomes as select event_id, outcome from app.handled;
    create view app.whole as select event_id, source_scope, outcome, effects, handled_at from app.handled`);
});
afterAll(() => database.drop());
beforeEach(() =>
  database.pool.query('truncate app.handled, oncehook.webhook_inbox, oncehook.shadow_decisions').then(() => undefined),
);

interface Received {
  readonly scope?: string;
  readonly source?: string;
  readonly ago?: string;
  /** What shadow mode decided; without it the inbox row alone is there. */
  readonly decided?: ShadowOutcome;
  readonly reason?: string;
  readonly kinds?: readonly string[];
  readonly status?: 'pending' | 'done' | 'quarantined';
  readonly outcome?: string;
}

async function received(eventId: string, given: Received = {}): Promise<void> {
  const { scope = SCOPE, source = 'stripe', ago = '1 hour', decided, reason, kinds = [] } = given;
  const { status = decided === undefined ? 'pending' : 'done', outcome = status === 'done' ? 'ignored' : null } = given;
  const stored = decided === undefined ? (reason ?? null) : 'shadow';
  await database.pool.query(
    `insert into oncehook.webhook_inbox
            (source_scope, event_id, source, event_type, request_id, signed_sha256, secret_position, status, outcome,
             reason, received_at, completed_at)
     values ($1, $2, $3, 'invoice.paid', 'r', sha256(convert_to($2, 'UTF8')), 0, $4, $5, $6, now() - $7::interval,
             case $4 when 'done' then now() end)`,
    [scope, eventId, source, status, outcome, stored, ago],
  );
  if (decided === undefined) return;
  const operations = kinds.map((kind) => ({ key: `${kind}:${eventId}`, kind, params: {}, status: 'planned' }));
  await database.pool.query(
    `insert into oncehook.shadow_decisions (source_scope, event_id, source, outcome, reason, operations, attempts)
     values ($1, $2, $3, $4, $5, $6, 1)`,
    [scope, eventId, source, decided, reason ?? null, JSON.stringify(operations)],
  );
}

async function handled(
  eventId: string,
  outcome: string,
  { scope = SCOPE, effects = null as readonly string[] | null, ago = '1 hour' } = {},
): Promise<void> {
  await database.pool.query(
    `insert into app.handled (event_id, source_scope, outcome, effects, handled_at)
     values ($1, $2, $3, $4, now() - $5::interval)`,
    [eventId, scope, outcome, effects, ago],
  );
}

function diff(view: string, request: Partial<DiffRequest> = {}): Promise<DecisionDiff> {
  return compareDecisions(database.pool, {
    view: parseViewName(view),
    olderThanMs: 60_000,
    by: 'class',
    limit: 50,
    ...request,
  });
}

const countsOf = async (...given: Parameters<typeof diff>): Promise<Record<string, number>> =>
  Object.fromEntries(Object.entries((await diff(...given)).counts).filter(([, count]) => count > 0));

describe('an event that both have', () => {
  it.each([
    ['applied', 'applied', 'agree'],
    ['duplicate', 'applied', 'agree'],
    ['superseded', 'applied', 'agree'],
    ['applied', 'duplicate', 'agree'],
    ['ignored', 'ignored', 'agree'],
    ['quarantine', 'quarantine', 'agree'],
    ['defect', 'quarantine', 'agree'],
    ['ignored', 'applied', 'differ'],
    ['applied', 'ignored', 'differ'],
    ['quarantine', 'applied', 'differ'],
    ['defect', 'applied', 'differ'],
    ['ignored', 'quarantine', 'differ'],
  ] as const)('%s in shadow and %s in the application: %s', async (decided, outcome, verdict) => {
    await received('evt_1', { decided, reason: 'foreign' });
    await handled('evt_1', outcome);
    for (const view of ['app.outcomes', 'app.whole']) expect(await countsOf(view)).toEqual({ [verdict]: 1 });
  });

  it.each([
    ['applied', 'duplicate', 'differ'],
    ['superseded', 'superseded', 'agree'],
  ] as const)('by words, %s and %s: %s', async (decided, outcome, verdict) => {
    await received('evt_1', { decided });
    await handled('evt_1', outcome);
    expect(await countsOf('app.outcomes', { by: 'words' })).toEqual({ [verdict]: 1 });
  });

  it.each([
    [['refund', 'email'], ['email', 'refund'], 'agree'],
    [[], [], 'agree'],
    [['email'], null, 'agree'],
    [['email'], [], 'differ'],
    [['email'], ['email', 'email'], 'differ'],
    [['email'], ['refund'], 'differ'],
  ] as const)('with effects %j here and %j there: %s', async (kinds, effects, verdict) => {
    await received('evt_1', { decided: 'applied', kinds });
    await handled('evt_1', 'applied', { effects });
    expect(await countsOf('app.whole')).toEqual({ [verdict]: 1 });
    expect(await countsOf('app.outcomes')).toEqual({ agree: 1 });
  });

  it('has no effects to compare where the other one came first', async () => {
    await received('evt_1', { decided: 'duplicate' });
    await handled('evt_1', 'applied', { effects: ['email'] });
    expect(await countsOf('app.whole')).toEqual({ agree: 1 });
  });

  it('twice in the application differs: that is what oncehook is there for', async () => {
    await received('evt_1', { decided: 'applied' });
    await handled('evt_1', 'applied');
    await handled('evt_1', 'applied');
    expect((await diff('app.whole')).events).toMatchObject([
      { verdict: 'differ', eventId: 'evt_1', shadow: 'applied', application: 'applied, applied' },
    ]);
  });

  it('is matched in its scope where the view says it', async () => {
    await received('evt_1', { decided: 'applied' });
    await received('evt_1', { decided: 'ignored', scope: 'stripe:acct_2:live' });
    await handled('evt_1', 'applied');
    expect(await countsOf('app.whole')).toEqual({ agree: 2 });
    expect(await countsOf('app.outcomes')).toEqual({ agree: 1, differ: 1 });
  });
});

describe('an event that one side has', () => {
  it('is only there, unless that side ignored it', async () => {
    await received('evt_shadow', { decided: 'applied', kinds: ['email'] });
    await received('evt_ignored_here', { decided: 'ignored' });
    await handled('evt_application', 'applied', { effects: ['refund'] });
    await handled('evt_ignored_there', 'ignored');
    const { counts, events, pairs } = await diff('app.whole');
    expect(counts).toEqual({ agree: 2, differ: 0, only_shadow: 1, only_application: 1, undecided: 0 });
    expect(events).toMatchObject([
      { verdict: 'only_shadow', eventId: 'evt_shadow', shadow: 'applied', shadowEffects: ['email'], application: null },
      { verdict: 'only_application', eventId: 'evt_application', scope: SCOPE, shadow: null, receivedAt: null },
    ]);
    expect(pairs).toContainEqual({
      verdict: 'only_shadow',
      shadow: 'applied',
      reason: null,
      application: null,
      events: 1,
    });
  });

  it('and waits here is not decided yet', async () => {
    await received('evt_decided', { decided: 'applied' });
    await handled('evt_decided', 'applied');
    await received('evt_waits');
    await handled('evt_waits', 'applied');
    for (const view of ['app.outcomes', 'app.whole']) {
      expect(await countsOf(view)).toEqual({ agree: 1, undecided: 1 });
    }
  });

  it('or ended on receipt is compared with that', async () => {
    await received('evt_decided', { decided: 'ignored' });
    await received('evt_ignored_type', { status: 'done' });
    await received('evt_other_mode', { status: 'quarantined', reason: 'mode_mismatch' });
    for (const id of ['evt_ignored_type', 'evt_other_mode']) await handled(id, 'applied');
    expect((await diff('app.outcomes')).events).toMatchObject([
      { verdict: 'differ', eventId: 'evt_ignored_type', shadow: 'ignored' },
      { verdict: 'differ', eventId: 'evt_other_mode', shadow: 'quarantine', reason: 'mode_mismatch' },
    ]);
  });
});

describe('the time and the source', () => {
  it('begin with the first decision: what was handled before was handled without us', async () => {
    await received('evt_1', { decided: 'applied', ago: '2 hours' });
    await handled('evt_1', 'applied');
    await handled('evt_before', 'applied', { ago: '3 hours' });
    expect(await countsOf('app.whole')).toEqual({ agree: 1 });
    expect(await countsOf('app.outcomes')).toEqual({ agree: 1, only_application: 1 });
  });

  it('leave out what is too young or too old, on either side', async () => {
    await received('evt_old', { decided: 'applied', ago: '2 days' });
    await received('evt_young', { decided: 'applied', ago: '1 second' });
    await received('evt_1', { decided: 'applied', ago: '1 hour' });
    await handled('evt_1', 'applied', { ago: '1 second' });
    await handled('evt_old_there', 'applied', { ago: '2 days' });
    await handled('evt_young_there', 'applied', { ago: '1 second' });
    const since = { agoMs: 24 * 3_600_000 };
    expect(await countsOf('app.whole', { since })).toEqual({ agree: 1 });
    expect(await countsOf('app.whole', { since: { at: new Date(Date.now() - 24 * 3_600_000) } })).toEqual({ agree: 1 });
    expect(await countsOf('app.whole', { since, olderThanMs: 0 })).toEqual({
      agree: 1,
      only_shadow: 1,
      only_application: 1,
    });
  });

  it('leave out the decisions of other sources', async () => {
    await received('evt_1', { decided: 'applied' });
    await received('evt_2', { decided: 'applied', source: 'other', scope: 'hmac:other' });
    await handled('evt_1', 'applied');
    expect(await countsOf('app.outcomes', { source: 'stripe' })).toEqual({ agree: 1 });
    expect(await countsOf('app.outcomes')).toEqual({ agree: 1, only_shadow: 1 });
  });

  it('leave the names of the rest to a higher limit', async () => {
    for (let number = 1; number <= 5; number += 1) await received(`evt_${number}`, { decided: 'applied' });
    const few = await diff('app.outcomes', { limit: 2 });
    expect(few.counts.only_shadow).toBe(5);
    expect([few.events.length, few.more]).toEqual([2, true]);
    expect((await diff('app.outcomes', { limit: 5 })).more).toBe(false);
  });
});

describe('a view that cannot be compared', () => {
  beforeAll(async () => {
    await database.pool.query(`
      create view app.without as select event_id as id, outcome as result from app.handled;
      create view app.wrong_effects as select event_id, outcome, 'email'::text as effects from app.handled;
      create view app.wrong_time as select event_id, outcome, handled_at::timestamp from app.handled;
      create view app.nameless as select null::text as event_id, 'applied'::text as outcome;
      create view app.words as select 'evt_1'::text as event_id, 'OK'::text as outcome;
      create view app.broken as select event_id, (1 / (count(*) - count(*)))::text as outcome from app.handled group by 1;
      create sequence app.counter;
      create view app.writing as select nextval('app.counter')::text as event_id, 'applied'::text as outcome`);
  });

  it.each([
    ['outcomes', 'usage', /--view takes schema\.view/],
    ['app.outcomes; drop table app.handled', 'usage', /--view takes schema\.view/],
    ['app."outcomes"', 'usage', /without quotes/],
    ['app.nowhere', 'not_found', /There is no view "app"\."nowhere".*docs\/shadow-mode\.md/],
    ['App.Outcomes', 'not_found', /taken as written/],
    ['app.without', 'usage', /no column event_id and no column outcome/],
    ['app.wrong_effects', 'usage', /effects must be text\[\].*it is text/],
    ['app.wrong_time', 'usage', /handled_at must be a timestamptz.*it is timestamp without/],
    ['app.nameless', 'usage', /rows without an event_id/],
    ['app.words', 'usage', /says outcome 'OK' \(event evt_1\): map your words/],
    ['app.broken', 'failed', /division by zero/],
    ['app.writing', 'failed', /read-only transaction/],
  ])('%s: %s', async (view, code, says) => {
    await handled('evt_1', 'applied');
    const error: unknown = await Promise.resolve()
      .then(() => diff(view))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) as string });
  });

  it('by a time that it does not say', async () => {
    await expect(diff('app.outcomes', { since: { agoMs: 1 } })).rejects.toThrow(/--since needs a column handled_at/);
  });
});

it('takes the view that docs/shadow-mode.md shows', async () => {
  const [, sql = ''] = /```sql\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs/shadow-mode.md'), 'utf8')) ?? [];
  await database.pool.query(
    `create table public.webhook_log (stripe_event_id text, result text, mail_sent boolean, refunded boolean, created_at timestamptz)`,
  );
  await database.pool.query(sql);
  await received('evt_1', { decided: 'applied', kinds: ['email'] });
  await received('evt_2', { decided: 'quarantine', reason: 'amount_mismatch' });
  await database.pool.query(`
    insert into public.webhook_log values
      ('evt_1', 'processed', true, false, now()), ('evt_2', 'failed', false, null, now() - interval '5 minutes')`);
  expect(await countsOf('public.webhook_outcomes', { since: { agoMs: 7 * 86_400_000 } })).toEqual({ agree: 2 });
});

it('compares a hundred thousand events within the time that a statement has', async () => {
  await database.pool.query(`
    insert into oncehook.webhook_inbox (source_scope, event_id, source, event_type, request_id, signed_sha256,
           secret_position, status, outcome, reason, received_at, completed_at)
    select '${SCOPE}', 'evt_' || n, 'stripe', 'invoice.paid', 'r', sha256(n::text::bytea), 0, 'done', 'ignored',
           'shadow', now() - interval '1 hour', now()
      from generate_series(1, 100000) n;
    insert into oncehook.shadow_decisions (source_scope, event_id, source, outcome, operations, attempts)
    select '${SCOPE}', 'evt_' || n, 'stripe', 'applied', '[{"kind": "email"}]', 1 from generate_series(1, 100000) n;
    insert into app.handled (event_id, source_scope, outcome, effects, handled_at)
    select 'evt_' || n, '${SCOPE}', 'applied', '{email}', now() - interval '1 hour' from generate_series(1000, 101000) n`);
  const began = performance.now();
  const { counts, events, more } = await diff('app.whole');
  process.stdout.write(`diff of 100,000 events: ${Math.round(performance.now() - began)} ms\n`);
  expect(counts).toEqual({ agree: 99_001, differ: 0, only_shadow: 999, only_application: 1_000, undecided: 0 });
  expect([events.length, more]).toEqual([50, true]);
});

describe('oncehook diff', () => {
  function oncehook(...args: readonly string[]): Promise<CommandResult> {
    const env = { DATABASE_URL: database.url, STRIPE_WEBHOOK_SECRET: 'whsec_0123456789abcdef' };
    return runCommand(args, env);
  }

  it('says by its exit code whether they agree, and in a table or a document where not', async () => {
    await received('evt_1', { decided: 'applied', kinds: ['email'] });
    await handled('evt_1', 'applied', { effects: ['email'] });
    expect(await oncehook('diff', '--view', 'app.whole', '--since', '2h')).toMatchObject({ code: 0 });
    await received('evt_2', { decided: 'ignored', reason: 'foreign' });
    await handled('evt_2', 'applied', { effects: ['email'] });
    const table = await oncehook('diff', '--view', 'app.whole');
    expect(table.code).toBe(1);
    expect(table.stdout).toMatch(/^agree +1$/m);
    expect(table.stdout).toMatch(/evt_2 +invoice\.paid +ignored\/foreign +applied \[email\]$/m);
    const document = await oncehook('diff', '--view', 'app.whole', '--json', '--source', 'stripe');
    expect(document.code).toBe(1);
    expect(JSON.parse(document.stdout)).toMatchObject({
      view: 'app.whole',
      counts: { agree: 1, differ: 1 },
      events: [{ eventId: 'evt_2', application: 'applied', applicationEffects: ['email'] }],
    });
  });

  it.each([
    [['--view', 'app.nowhere'], 3],
    [[], 2],
    [['--view', 'app.whole', '--since', '2026-03-01T00:00:00'], 2],
    [['--view', 'app.broken'], 1],
  ])('ends with the code of its trouble: %j %i', async (args, code) => {
    await handled('evt_1', 'applied');
    const result = await oncehook('diff', ...args);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).not.toContain('    at ');
  });

  it('has a sibling that shows the decision on one event', async () => {
    const id = `evt_${token()}`;
    await received(id, { decided: 'applied', kinds: ['email'] });
    const { stdout } = await oncehook('events', 'show', id);
    expect(stdout).toMatch(/^shadow decision +applied after 1 handler runs/m);
    expect(stdout).toMatch(new RegExp(`^shadow effect +email:${id} +would be planned$`, 'm'));
    const document = await oncehook('events', 'show', id, '--json');
    expect(JSON.parse(document.stdout)).toMatchObject({
      shadow: { outcome: 'applied', operations: [{ kind: 'email' }] },
    });
  });
});

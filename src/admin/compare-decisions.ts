import type { Pool, PoolClient } from 'pg';
import { isConnectionError, sqlstateOf } from '../db/error-kinds.js';
import { CommandError } from '../errors.js';
import { openOutcomeView, type OutcomeView } from './outcome-view.js';
import type { ViewName } from './view-name.js';

export interface DiffRequest {
  readonly view: ViewName;
  /** Only what this source decided. */
  readonly source?: string;
  /** From when events were received: so many milliseconds ago, or a time. Without it, from the first decision on. */
  readonly since?: { readonly agoMs: number } | { readonly at: Date };
  /** Younger events may not have been handled by both yet, in milliseconds. */
  readonly olderThanMs: number;
  /** `words`: applied, duplicate and superseded are told apart. */
  readonly by: 'class' | 'words';
  /** Differing events given by name, at most. */
  readonly limit: number;
}

export type Verdict = 'agree' | 'differ' | 'only_shadow' | 'only_application' | 'undecided';

export interface DecisionDiff {
  readonly view: string;
  readonly source: string | null;
  /** The events compared were received in this time. */
  readonly since: Date | null;
  readonly until: Date;
  readonly counts: Readonly<Record<Verdict, number>>;
  /** Which pairs of answers there were, and how often; most frequent first. */
  readonly pairs: readonly DiffPair[];
  /** Events that differ or that one side alone has, oldest first. */
  readonly events: readonly DiffEvent[];
  readonly more: boolean;
}

export interface DiffPair {
  readonly verdict: Verdict;
  readonly shadow: string | null;
  readonly reason: string | null;
  readonly application: string | null;
  readonly events: number;
}

export interface DiffEvent {
  readonly verdict: Verdict;
  /** `null` where the application does not say it and the event never came here. */
  readonly scope: string | null;
  readonly eventId: string;
  readonly eventType: string | null;
  /** ISO 8601 with its zone; `null` when it never came here. */
  readonly receivedAt: string | null;
  readonly shadow: string | null;
  readonly reason: string | null;
  /** Kinds of effects; `null` where nothing is known of them. */
  readonly shadowEffects: readonly string[] | null;
  readonly application: string | null;
  readonly applicationEffects: readonly string[] | null;
}

/** A person waits for the answer; what takes longer needs an index or a shorter time. In milliseconds. */
const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * Compares what shadow mode decided with what the application says in its view, in one snapshot that can write nothing.
 * @throws CommandError for a view that is not there or not of the form, and for one whose query fails.
 */
export async function compareDecisions(pool: Pool, request: DiffRequest): Promise<DecisionDiff> {
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    await client.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
    const view = await openOutcomeView(client, request.view);
    if (request.since !== undefined && !view.hasTime) {
      throw new CommandError(
        'usage',
        `--since needs a column handled_at in ${request.view.quoted}: without it nobody knows which of its rows are that old`,
      );
    }
    return await readDiff(client, view, request);
  } catch (error) {
    throw explained(error, request.view);
  } finally {
    // Nothing was written, and a session whose query was cancelled is not worth keeping.
    client.release(true);
  }
}

async function readDiff(client: PoolClient, view: OutcomeView, request: DiffRequest): Promise<DecisionDiff> {
  const { since, until } = await readWindow(client, request);
  const { pairs, events } = await readJudged(client, view, request, since, until);
  const countOf = (verdict: Verdict): number =>
    pairs.filter((pair) => pair.verdict === verdict).reduce((sum, pair) => sum + pair.events, 0);
  return {
    view: `${view.view.schema}.${view.view.name}`,
    source: request.source ?? null,
    since,
    until,
    counts: {
      agree: countOf('agree'),
      differ: countOf('differ'),
      only_shadow: countOf('only_shadow'),
      only_application: countOf('only_application'),
      undecided: countOf('undecided'),
    },
    pairs,
    events: events.slice(0, request.limit),
    more: events.length > request.limit,
  };
}

interface Judged {
  readonly pairs: readonly DiffPair[];
  /** One more than wanted tells that there are more. */
  readonly events: readonly DiffEvent[];
}

/** One statement, so that all events are judged once for both answers. */
async function readJudged(
  client: PoolClient,
  view: OutcomeView,
  { source, by, limit }: DiffRequest,
  since: Date | null,
  until: Date,
): Promise<Judged> {
  const { rows } = await client.query<Judged>(
    `${judgedEvents(view, by)}
     select (select coalesce(json_agg(counted), '[]')
               from (select verdict, shadow, reason, application, count(*) as events
                       from judged
                      group by verdict, shadow, reason, application
                      order by events desc, verdict, shadow, reason, application) counted) as pairs,
            (select coalesce(json_agg(named), '[]')
               from (select verdict, scope, event_id as "eventId", event_type as "eventType",
                            received_at as "receivedAt", shadow, reason, shadow_effects as "shadowEffects",
                            application, application_effects as "applicationEffects"
                       from judged
                      where verdict in ('differ', 'only_shadow', 'only_application')
                      order by coalesce(received_at, handled_at), scope, event_id
                      limit $4) named) as events`,
    [source ?? null, since, until, limit + 1],
  );
  const [row] = rows;
  if (row === undefined) throw new CommandError('failed', 'The database did not answer');
  return row;
}

/** By the database's clock. What was handled before the first decision was handled without us. */
async function readWindow(
  client: PoolClient,
  { since, source, olderThanMs }: DiffRequest,
): Promise<{ readonly since: Date | null; readonly until: Date }> {
  const { rows } = await client.query<{ since: Date | null; until: Date }>(
    `select coalesce(
              $1::timestamptz,
              now() - $2::float8 * interval '1 millisecond',
              (select min(coalesce(i.received_at, d.decided_at))
                 from oncehook.shadow_decisions d
                 left join oncehook.webhook_inbox i using (source_scope, event_id)
                where $3::text is null
                   or d.source = $3)) as since,
            now() - $4::float8 * interval '1 millisecond' as until`,
    [
      since !== undefined && 'at' in since ? since.at : null,
      since !== undefined && 'agoMs' in since ? since.agoMs : null,
      source ?? null,
      olderThanMs,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new CommandError('failed', 'The database did not tell its time');
  return row;
}

/**
 * Every event that either side knows, with what both say: $1 source, $2 from, $3 to. Where shadow mode has decided
 * nothing, the inbox may: an event that ended on receipt, or is live.
 * - An event that one side ignored and the other does not know: neither did anything.
 * - Several rows of one event say something else than one row: it was handled several times.
 */
function judgedEvents({ view, hasScope, hasEffects, hasTime }: OutcomeView, by: DiffRequest['by']): string {
  return `
  with decided as (
    select d.source_scope, d.event_id, d.source, d.outcome, d.reason, d.operations,
           i.event_type, coalesce(i.received_at, d.decided_at) as received_at
      from oncehook.shadow_decisions d
      left join oncehook.webhook_inbox i using (source_scope, event_id)
  ), application as (
    select v.event_id::text as event_id,
           ${hasScope ? 'v.source_scope::text' : 'null::text'} as source_scope,
           string_agg(v.outcome::text, ', ' order by v.outcome::text) as outcome,
           ${hasEffects ? 'jsonb_agg(to_jsonb(v.effects)) -> 0' : 'null::jsonb'} as effects,
           ${hasTime ? 'max(v.handled_at)' : 'null::timestamptz'} as handled_at
      from ${view.quoted} v
     group by 1, 2
  ), matched as (
    select coalesce(d.source_scope, a.source_scope) as scope,
           coalesce(d.event_id, a.event_id) as event_id,
           d.source, d.outcome as decided, d.reason, d.operations, d.event_type, d.received_at,
           a.outcome as application, a.effects, a.handled_at
      from decided d
      full join application a
        on a.event_id = d.event_id
           ${hasScope ? 'and a.source_scope = d.source_scope' : ''}
  ), known as (
    select coalesce(m.scope, i.source_scope) as scope,
           m.event_id,
           coalesce(m.source, i.source) as source,
           coalesce(m.event_type, i.event_type) as event_type,
           coalesce(m.received_at, i.received_at) as received_at,
           m.handled_at,
           case
             when m.decided is not null then m.decided
             when i.status = 'done' then i.outcome
             when i.status = 'quarantined' then 'quarantine'
             when i.status = 'pending' then 'undecided'
           end as shadow,
           coalesce(m.reason, i.reason) as reason,
           case when m.decided is not null
                then array(select o ->> 'kind' from jsonb_array_elements(m.operations) o
                            order by (o ->> 'kind') collate "C")
           end as shadow_effects,
           m.application,
           case when jsonb_typeof(m.effects) = 'array'
                then array(select e from jsonb_array_elements_text(m.effects) e order by e collate "C")
           end as application_effects
      from matched m
      left join lateral (
             select stored.source_scope, stored.source, stored.event_type, stored.received_at, stored.status,
                    stored.outcome, stored.reason
               from oncehook.webhook_inbox stored
              where m.decided is null
                and stored.source_scope = any (
                      ${hasScope ? 'array[m.scope]' : 'array(select distinct d.source_scope from decided d)'})
                and stored.event_id = m.event_id
              order by stored.received_at
              limit 1) i on true
  ), judged as materialized (
    select *,
           case
             when shadow = 'undecided' then 'undecided'
             when shadow is null and application = 'ignored' then 'agree'
             when shadow is null then 'only_application'
             when application is null and shadow in ('ignored', 'discarded') then 'agree'
             when application is null then 'only_shadow'
             when ${answerOf('shadow', by)} is distinct from ${answerOf('application', by)} then 'differ'
             when shadow = 'applied' and application = 'applied' and shadow_effects <> application_effects then 'differ'
             else 'agree'
           end as verdict
      from known
     where ($1::text is null or source is null or source = $1)
       and case
             when received_at is not null then received_at >= $2::timestamptz and received_at < $3::timestamptz
             when handled_at is not null then ($2::timestamptz is null or handled_at >= $2) and handled_at < $3
             else true
           end
  )`;
}

/**
 * What an answer comes down to. Two systems that work on the same tables, or hear of events in different orders, say
 * applied, duplicate and superseded according to who came first.
 */
function answerOf(column: 'shadow' | 'application', by: DiffRequest['by']): string {
  return `case ${column}
            ${by === 'class' ? `when 'duplicate' then 'applied' when 'superseded' then 'applied'` : ''}
            when 'discarded' then 'ignored'
            when 'defect' then 'quarantine'
            else ${column}
          end`;
}

function explained(error: unknown, { quoted }: ViewName): unknown {
  if (error instanceof CommandError || isConnectionError(error)) return error;
  switch (sqlstateOf(error)) {
    case undefined:
      return error;
    case '57014':
      return new CommandError(
        'failed',
        `Comparing with ${quoted} took longer than ${STATEMENT_TIMEOUT_MS / 1_000} s: restrict the view to recent rows, or give it indexes`,
      );
    case '42501':
      return new CommandError('failed', `The role of DATABASE_URL may not read ${quoted}: grant it usage and select`, {
        cause: error,
      });
    default:
      return new CommandError('failed', `Reading ${quoted} failed: ${(error as Error).message}`, { cause: error });
  }
}

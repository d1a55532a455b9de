import type { ClientBase } from 'pg';
import type { ProcessWebhookEventInput } from '../domain/event.js';

type Queryable = Pick<ClientBase, 'query'>;

export interface ClaimedEvent extends ProcessWebhookEventInput {
  /** Whether a run was started for it before: then the run may be stuck. */
  readonly dispatchedBefore: boolean;
}

/**
 * Scopes with due rows, in turn: the `limit` next ones after `after`, from the start again at the end. A loose scan of
 * the due index, one step a scope, so a million due rows of one scope cost no more than one.
 */
export async function scopesWithDueEvents(db: Queryable, after: string, limit: number): Promise<readonly string[]> {
  const { rows } = await db.query<{ scope: string }>(
    `with recursive scopes as (
       (select source_scope as scope
          from oncehook.webhook_inbox
         where status = 'pending'
         order by source_scope
         limit 1)
       union all
       select (select i.source_scope
                 from oncehook.webhook_inbox i
                where i.status = 'pending' and i.source_scope > scopes.scope
                order by i.source_scope
                limit 1)
         from scopes
        where scopes.scope is not null)
     select scope
       from scopes
      where exists (select
                      from oncehook.webhook_inbox i
                     where i.status = 'pending' and i.source_scope = scopes.scope and i.next_attempt_at <= now())
      order by scope <= $1, scope
      limit $2`,
    [after, limit],
  );
  return rows.map(({ scope }) => scope);
}

/**
 * Claims due rows, at most `perScope` of each scope, oldest first, skipping what another sweeper holds. A claim moves
 * the row's clock on by the time since its first dispatch (30 s to 10 min), so a row whose run is alive is looked at
 * ever less often, and one whose claimer died comes back by itself.
 */
export async function claimDueEvents(
  db: Queryable,
  scopes: readonly string[],
  perScope: number,
): Promise<readonly ClaimedEvent[]> {
  const { rows } = await db.query<ClaimedEvent>(
    `with due as (
       select picked.source_scope, picked.event_id, picked.dispatched_at, picked.next_attempt_at
         from unnest($1::text[]) as turn(scope)
        cross join lateral (
          select i.source_scope, i.event_id, i.dispatched_at, i.next_attempt_at
            from oncehook.webhook_inbox i
           where i.status = 'pending'
             and i.source_scope = turn.scope
             and i.next_attempt_at <= now()
           order by i.next_attempt_at, i.event_id
           limit $2
             for update skip locked) as picked),
     claimed as (
       update oncehook.webhook_inbox i
          set dispatched_at = coalesce(i.dispatched_at, now()),
              next_attempt_at =
                now() + least(greatest(now() - coalesce(i.dispatched_at, now()), interval '30 seconds'), interval '10 minutes')
         from due
        where i.source_scope = due.source_scope
          and i.event_id = due.event_id
    returning i.source_scope, i.event_id, i.event_type)
     select claimed.source_scope as scope,
            claimed.event_id as "eventId",
            claimed.event_type as "eventType",
            due.dispatched_at is not null as "dispatchedBefore"
       from claimed
       join due using (source_scope, event_id)
      order by due.next_attempt_at, claimed.event_id`,
    [scopes, perScope],
  );
  return rows;
}

/** Gives claims back that Temporal did not answer: due at once, for whichever sweeper comes first. */
export async function returnClaims(db: Queryable, events: readonly ProcessWebhookEventInput[]): Promise<void> {
  await db.query(
    `update oncehook.webhook_inbox i
        set next_attempt_at = now()
       from unnest($1::text[], $2::text[]) as back(scope, event_id)
      where i.source_scope = back.scope
        and i.event_id = back.event_id
        and i.status = 'pending'`,
    [events.map(({ scope }) => scope), events.map(({ eventId }) => eventId)],
  );
}

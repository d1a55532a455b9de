-- Up Migration

-- What a source in shadow mode would have done with an event. Written by applyEvent and quarantineEvent, in the
-- transaction that ends the event as done/ignored, reason shadow; read by `oncehook events show` and `oncehook diff`.
create table oncehook.shadow_decisions (
  source_scope text        not null,
  event_id     text        not null,
  source       text        not null,
  decided_at   timestamptz not null default now(),
  outcome      text        not null,
  reason       text,
  order_id     text,
  operations   jsonb       not null default '[]',
  attempts     integer     not null,
  defect       text,
  constraint shadow_decisions_pkey primary key (source_scope, event_id),
  constraint shadow_decisions_outcome_known
    check (outcome in ('applied', 'duplicate', 'superseded', 'ignored', 'quarantine', 'defect')),
  constraint shadow_decisions_quarantine_has_reason check (outcome <> 'quarantine' or reason is not null),
  constraint shadow_decisions_operations_is_list check (jsonb_typeof(operations) = 'array'),
  constraint shadow_decisions_operations_only_if_applied check (outcome = 'applied' or operations = '[]'),
  constraint shadow_decisions_defect_only_of_defects check (defect is null or outcome = 'defect'),
  constraint shadow_decisions_attempts_not_negative check (attempts >= 0)
);

comment on table oncehook.shadow_decisions is
  'One row per event of a source in shadow mode: what would have been done. Written with the event''s end, never changed.';
comment on column oncehook.shadow_decisions.source_scope is 'With event_id the key of the event in webhook_inbox.';
comment on column oncehook.shadow_decisions.event_id is 'The sender''s event ID.';
comment on column oncehook.shadow_decisions.source is 'Name of the source that decided.';
comment on column oncehook.shadow_decisions.decided_at is 'When; after its waits, if the event had to wait.';
comment on column oncehook.shadow_decisions.outcome is
  'What the event would have ended as; quarantine: it would wait for an operator; defect: the handler failed five times.';
comment on column oncehook.shadow_decisions.reason is 'The reason code that the inbox row would have.';
comment on column oncehook.shadow_decisions.order_id is 'The order that the handler named, if it named one.';
comment on column oncehook.shadow_decisions.operations is
  'The effects that would have been planned: a list of {key, kind, params, status}. Parameters may hold personal data.';
comment on column oncehook.shadow_decisions.attempts is 'Handler runs that it took.';
comment on column oncehook.shadow_decisions.defect is 'Text of the last failure, for outcome defect.';

create index shadow_decisions_source on oncehook.shadow_decisions (source, decided_at);

-- Places of fetches among each other: a number is drawn when a fetch begins, so of two fetches the one with the greater
-- number began later, whatever clocks say.
create sequence oncehook.fetch_order as bigint;

comment on sequence oncehook.fetch_order is 'Drawn when the fetch of a provider object begins. Drawn by applyEvent.';

-- Of each object that a latest-state handler keeps: the latest-begun fetch that was applied. Its row lock is that object's.
-- Written by take_object_turn only.
create table oncehook.object_states (
  source_scope text        not null,
  name         text        not null,
  object_type  text        not null,
  object_id    text        not null,
  fetch_order  bigint      not null,
  event_id     text        not null,
  applied_at   timestamptz not null default now(),
  constraint object_states_pkey primary key (source_scope, name, object_type, object_id)
);

comment on table oncehook.object_states is
  'One row per object and latest-state handler: which fetch its state is from. Written by take_object_turn.';
comment on column oncehook.object_states.source_scope is 'Whose object: object IDs are unique within a scope only.';
comment on column oncehook.object_states.name is 'Name of the latest-state handler; each keeps a state of its own.';
comment on column oncehook.object_states.object_type is 'As the provider names it.';
comment on column oncehook.object_states.object_id is 'The provider''s ID.';
comment on column oncehook.object_states.fetch_order is 'Number of the applied fetch; see sequence fetch_order.';
comment on column oncehook.object_states.event_id is 'The event whose fetch was applied.';
comment on column oncehook.object_states.applied_at is 'When it was applied, by the database''s clock.';

-- Locks the object to the end of the transaction and says whether what a fetch brought may be applied.
-- 'taken': no fetch that began later has been applied; this one counts as applied if the transaction commits.
-- 'newer_applied': one has. 'fetch_again': the numbers cannot be compared, see below; a new fetch gets one that can.
-- An equal number is of the same event: two handlers of it may keep the same object under one name.
create function oncehook.take_object_turn(
  p_scope text,
  p_name text,
  p_type text,
  p_id text,
  p_order bigint,
  p_event text
) returns text
language plpgsql
set search_path = pg_catalog
as $$
declare
  v_applied bigint;
begin
  -- Drawn before a failover to a standby that lacked the last numbers: it would outrank fetches that begin later.
  if p_order > (select last_value from oncehook.fetch_order) then
    return 'fetch_again';
  end if;

  insert into oncehook.object_states as stored
         (source_scope, name, object_type, object_id, fetch_order, event_id)
  values (p_scope, p_name, p_type, p_id, p_order, p_event)
      on conflict (source_scope, name, object_type, object_id) do update
     set fetch_order = excluded.fetch_order,
         event_id = excluded.event_id,
         applied_at = excluded.applied_at
   where stored.fetch_order <= excluded.fetch_order;
  if found then
    return 'taken';
  end if;

  -- The rows came from elsewhere and the sequence did not (logical replication, a partial restore): every object would
  -- seem newer than all that is fetched from now on.
  select fetch_order into v_applied
    from oncehook.object_states
   where source_scope = p_scope
     and name = p_name
     and object_type = p_type
     and object_id = p_id;
  if v_applied > (select last_value from oncehook.fetch_order) then
    perform setval('oncehook.fetch_order', v_applied);
    return 'fetch_again';
  end if;
  return 'newer_applied';
end
$$;

comment on function oncehook.take_object_turn is 'Used by latest-state handlers, under the lock of the event''s inbox row.';

-- Up Migration

-- External effects. A row, with its exact parameters and key, is committed by the transaction that decided it and
-- before any call goes out. Written by applyEvent (plan), performOperation (life), operators (release).
create table oncehook.operations (
  operation_key      text        not null,
  kind               text        not null,
  tenant_id          text        not null,
  params             jsonb       not null,
  message            bytea,
  message_id         text,
  idempotency_key    text        not null,
  generation         integer     not null default 1,
  status             text        not null default 'planned',
  provider_reference text,
  -- First and last committed intent to send: the age of the provider's key, and how long an attempt may be alive.
  first_sent_at      timestamptz,
  last_sent_at       timestamptz,
  -- Also the fence: an attempt's answer names the number that the attempt was given.
  attempts           integer     not null default 0,
  -- Attempts of this generation that may have had an effect nobody knows of.
  lost_answers       integer     not null default 0,
  next_attempt_at    timestamptz not null default now(),
  last_error         text,
  source_scope       text,
  event_id           text,
  created_at         timestamptz not null default now(),
  settled_at         timestamptz,
  constraint operations_pkey primary key (operation_key),
  constraint operations_idempotency_key_key unique (idempotency_key),
  constraint operations_key_form
    check (operation_key ~ '^[A-Za-z0-9_.@+~:-]+$' and length(operation_key) <= 2000),
  constraint operations_kind_form check (kind ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint operations_idempotency_key_length check (length(idempotency_key) between 1 and 255),
  constraint operations_status_known
    check (status in ('planned', 'proposed', 'sending', 'unknown', 'confirmed', 'refused', 'parked')),
  constraint operations_sent_has_time check (status not in ('sending', 'unknown') or first_sent_at is not null),
  constraint operations_sent_first_and_last check ((first_sent_at is null) = (last_sent_at is null)),
  constraint operations_unknown_lost_an_answer check (status <> 'unknown' or lost_answers > 0),
  constraint operations_settled_iff_answered check ((settled_at is not null) = (status in ('confirmed', 'refused'))),
  constraint operations_stopped_has_code check (status not in ('refused', 'parked') or last_error is not null),
  constraint operations_counts_not_negative check (attempts >= 0 and lost_answers >= 0),
  constraint operations_generation_positive check (generation >= 1),
  constraint operations_message_has_id check (message is null or message_id is not null),
  -- Codes and IDs only: what a provider writes in its answers quotes values and must not come to rest here.
  constraint operations_last_error_is_code check (last_error ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint operations_reference_form check (provider_reference ~ '^[\x21-\x7e]{1,255}$'),
  constraint operations_event_both_or_none check ((source_scope is null) = (event_id is null))
);

comment on table oncehook.operations is
  'External effects under persisted keys: planned with the decision, sent by performOperation, released by operators.';
comment on column oncehook.operations.message is 'The exact MIME of an email, built once and sent as it is on every attempt.';
comment on column oncehook.operations.lost_answers is
  'Attempts of this generation whose answer was lost; while not 0, a refusal to send again proves nothing.';
comment on column oncehook.operations.next_attempt_at is 'When the sweeper may start this operation''s workflow again.';

create index operations_due on oncehook.operations (next_attempt_at, operation_key)
  where status in ('planned', 'sending', 'unknown');

create index operations_event on oncehook.operations (source_scope, event_id);

-- Brakes: while a row stands, operations of its kind (and tenant, * = all) are not sent. Written by operators.
create table oncehook.operation_pauses (
  kind         text        not null,
  tenant_id    text        not null default '*',
  requested_by text        not null,
  reason       text        not null,
  paused_at    timestamptz not null default now(),
  constraint operation_pauses_pkey primary key (kind, tenant_id)
);

comment on table oncehook.operation_pauses is 'Brakes per kind and tenant (* = all), set and lifted by operators.';

-- What operators asked for and what came of it. Written by the activity that carried the request out.
create table oncehook.operator_actions (
  id            bigint generated always as identity primary key,
  source_scope  text,
  event_id      text,
  operation_key text,
  action        text        not null,
  requested_by  text,
  reason        text,
  request_key   text        not null,
  requested_at  timestamptz not null default now(),
  result        text        not null,
  constraint operator_actions_request_key_key unique (request_key)
);

comment on table oncehook.operator_actions is
  'One row per operator request; requested_by is as claimed in the signal, not proven.';

create index operator_actions_event on oncehook.operator_actions (source_scope, event_id);

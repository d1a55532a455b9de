-- Up Migration

-- The ledger of keys: one row per accepted event, long-lived and thin. Written by the receiver (insert only), by
-- applyEvent and its siblings (status), and by the sweeper (claims). The receiver never updates a row.
create table oncehook.webhook_inbox (
  source_scope        text        not null,
  event_id            text        not null,
  source              text        not null,
  event_type          text        not null,
  status              text        not null default 'pending',
  outcome             text,
  reason              text,
  received_at         timestamptz not null default now(),
  request_id          text        not null,
  provider_created_at timestamptz,
  signed_sha256       bytea       not null,
  first_copy          boolean     not null default false,
  secret_position     smallint    not null,
  dispatched_at       timestamptz,
  waiting_since       timestamptz,
  attempts            integer     not null default 0,
  -- The sweeper's only clock. Five seconds leave the receiver's own start its chance.
  next_attempt_at     timestamptz not null default now() + interval '5 seconds',
  last_error          text,
  completed_at        timestamptz,
  constraint webhook_inbox_pkey primary key (source_scope, event_id),
  constraint webhook_inbox_event_id_form check (event_id ~ '^[\x21-\x7e]+$' and length(event_id) <= 300),
  constraint webhook_inbox_event_type_form check (event_type ~ '^[\x21-\x7e]{1,255}$'),
  constraint webhook_inbox_status_known check (status in ('pending', 'done', 'quarantined')),
  constraint webhook_inbox_outcome_known
    check (outcome in ('applied', 'duplicate', 'superseded', 'ignored', 'discarded')),
  constraint webhook_inbox_outcome_iff_done check ((outcome is not null) = (status = 'done')),
  constraint webhook_inbox_completed_iff_done check ((completed_at is not null) = (status = 'done')),
  constraint webhook_inbox_quarantine_has_reason check (status <> 'quarantined' or reason is not null),
  constraint webhook_inbox_sha256_length check (length(signed_sha256) = 32)
);

comment on table oncehook.webhook_inbox is
  'One row per accepted event; the dedupe of record. Written by the receiver (insert), activities (status), sweeper (claims).';
comment on column oncehook.webhook_inbox.secret_position is 'Which configured secret matched, counted from 0.';
comment on column oncehook.webhook_inbox.waiting_since is 'Start of the current wait for what the event stands on; cleared by a replay.';
comment on column oncehook.webhook_inbox.attempts is 'Handler runs, not claims.';
comment on column oncehook.webhook_inbox.next_attempt_at is 'When the sweeper may start this row again while it is pending.';

-- The sweeper walks scopes by a loose scan of this index; only unfinished rows are in it.
create index webhook_inbox_due on oncehook.webhook_inbox (source_scope, next_attempt_at, event_id)
  where status = 'pending';

-- One live copy of the same signed bytes, for senders whose event ID lies outside the signature.
create unique index webhook_inbox_first_copy on oncehook.webhook_inbox (source_scope, signed_sha256)
  where first_copy;

-- What operators list.
create index webhook_inbox_quarantined on oncehook.webhook_inbox (received_at) where status = 'quarantined';

-- The verified text, kept to the character: json, not jsonb, since jsonb refuses \u0000 and rounds nothing it should.
-- Read it as payload::text only. No foreign key: one would lock the inbox row on insert. Written by the receiver.
create table oncehook.webhook_payloads (
  source_scope text        not null,
  event_id     text        not null,
  received_at  timestamptz not null default now(),
  payload      json        not null,
  constraint webhook_payloads_pkey primary key (source_scope, event_id)
);

comment on table oncehook.webhook_payloads is
  'The verified text of an event; expires before its inbox row. Read it as payload::text: -> fails on some valid rows.';

create index webhook_payloads_received_at on oncehook.webhook_payloads (received_at);

-- Further deliveries of a stored event, for correlating with the sender's retries. Written by the receiver.
create table oncehook.webhook_redeliveries (
  id           bigint generated always as identity primary key,
  source_scope text        not null,
  event_id     text        not null,
  received_at  timestamptz not null default now(),
  request_id   text        not null
);

comment on table oncehook.webhook_redeliveries is
  'One row per duplicate delivery, for correlating with the sender''s retries.';

create index webhook_redeliveries_event on oncehook.webhook_redeliveries (source_scope, event_id);
create index webhook_redeliveries_received_at on oncehook.webhook_redeliveries (received_at);

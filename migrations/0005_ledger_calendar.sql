-- Up Migration

-- One row per payment that a sender reported. Written by the ledger handler set (insert only).
create table oncehook.ledger_entries (
  tenant_id    text        not null,
  reference    text        not null,
  amount_minor bigint      not null,
  currency     text        not null,
  occurred_at  timestamptz not null,
  source_scope text        not null,
  event_id     text        not null,
  recorded_at  timestamptz not null default now(),
  constraint ledger_entries_pkey primary key (tenant_id, reference),
  constraint ledger_entries_reference_length check (octet_length(reference) between 1 and 255),
  constraint ledger_entries_amount_not_negative check (amount_minor >= 0),
  constraint ledger_entries_currency_form check (currency ~ '^[a-z]{3}$')
);

comment on table oncehook.ledger_entries is
  'One row per payment reference of a tenant, never changed. Written by the ledger handler set.';
comment on column oncehook.ledger_entries.reference is
  'The sender''s name of the payment. Another event with it is a duplicate, or quarantined when amount or currency differ.';
comment on column oncehook.ledger_entries.occurred_at is 'When the payment happened, as the first event said.';
comment on column oncehook.ledger_entries.event_id is 'The event that wrote the row, in source_scope; outlives its inbox row.';

-- One row per appointment, in the state of the change that stands. Written by the calendar handler set.
create table oncehook.calendar_entries (
  tenant_id      text        not null,
  appointment_id text        not null,
  version        bigint      not null,
  status         text        not null,
  starts_at      timestamptz not null,
  ends_at        timestamptz not null,
  title          text        not null,
  source_scope   text        not null,
  event_id       text        not null,
  created_at     timestamptz not null default now(),
  updated_at     timestamptz not null default now(),
  constraint calendar_entries_pkey primary key (tenant_id, appointment_id),
  constraint calendar_entries_appointment_id_length check (octet_length(appointment_id) between 1 and 255),
  constraint calendar_entries_version_not_negative check (version >= 0),
  constraint calendar_entries_status_known check (status in ('created', 'rescheduled', 'canceled')),
  constraint calendar_entries_ends_after_start check (ends_at >= starts_at)
);

comment on table oncehook.calendar_entries is
  'One row per appointment of a tenant: a cancel is final, else the highest version stands. Written by the calendar handler set.';
comment on column oncehook.calendar_entries.version is
  'The sender''s version of the change that stands; not always the highest one seen, since a cancel beats every other change.';
comment on column oncehook.calendar_entries.status is 'The kind of change that stands.';
comment on column oncehook.calendar_entries.event_id is
  'The event that brought the change that stands, in source_scope; outlives its inbox row.';

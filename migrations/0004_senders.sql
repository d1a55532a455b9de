-- Up Migration

-- Two events that tell one change: a thin event names the snapshot event that is its twin. Set by the receiver; read by
-- applyEvent, which finishes the second of the two as a duplicate.
alter table oncehook.webhook_inbox add column twin_event_id text;

comment on column oncehook.webhook_inbox.twin_event_id is
  'ID of the event in the same scope that tells the same change: a thin event''s snapshot_event.';

create index webhook_inbox_twin on oncehook.webhook_inbox (source_scope, twin_event_id)
  where twin_event_id is not null;

comment on column oncehook.webhook_inbox.first_copy is
  'Where the event ID is not signed: this row is the one live copy of its signed bytes.';

-- What was kept aside under {id}~{hash of the bytes}, whatever became of it since: how often these bytes came again.
create index webhook_inbox_kept_aside on oncehook.webhook_inbox (source_scope, signed_sha256)
  where right(event_id, 33) = '~' || left(encode(signed_sha256, 'hex'), 32);

-- Which secret matched last, and when: one step per secret for `oncehook sources`.
create index webhook_inbox_secret on oncehook.webhook_inbox (source, secret_position, received_at);

-- In bytes: an order's ID is part of the keys of its effects, where a character outside ASCII takes up to twelve.
alter table oncehook.orders
  drop constraint orders_id_length,
  add constraint orders_id_length check (octet_length(id) between 1 and 255);

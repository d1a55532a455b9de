-- Up Migration

-- Approval by an operator: what was approved is exempt from the brakes of its kind (mode and caps).
alter table oncehook.operations add column approved_at timestamptz;

comment on column oncehook.operations.approved_at is
  'When an operator let this operation through the brakes of its kind; null for one that the machine sent by itself.';

-- What was sent in the last hour, of one kind: the cap per hour counts it before each first send.
create index operations_first_sent on oncehook.operations (kind, first_sent_at)
  where first_sent_at is not null;

-- What operators list: everything that waits for one of them.
create index operations_held on oncehook.operations (created_at)
  where status in ('proposed', 'parked');

-- A pause may also be of one account: operations that name it as "scope" in their parameters. Written by operators, and
-- by performOperation when an account's key is refused (requested_by oncehook, reason provider_auth).
alter table oncehook.operation_pauses add column scope text not null default '*';
alter table oncehook.operation_pauses drop constraint operation_pauses_pkey;
alter table oncehook.operation_pauses
  add constraint operation_pauses_pkey primary key (kind, tenant_id, scope);

comment on table oncehook.operation_pauses is
  'Brakes per kind, tenant and scope (* = all of them), set and lifted by operators; by oncehook when a key is refused.';

create index operator_actions_operation on oncehook.operator_actions (operation_key)
  where operation_key is not null;

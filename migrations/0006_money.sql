-- Up Migration

-- What an event told of a payment, as far as it decides anything; money under way included.
alter table oncehook.payments
  add column provider_charge_id text,
  add column capturable_minor   bigint  not null default 0,
  add column attempt_failed     boolean not null default false,
  add constraint payments_status_known
    check (provider_status in ('open', 'processing', 'authorized', 'succeeded', 'canceled')),
  add constraint payments_captured_only_if_succeeded check (captured_minor = 0 or provider_status = 'succeeded'),
  add constraint payments_capturable_not_negative check (capturable_minor >= 0);

comment on column oncehook.payments.provider_status is
  'How far the payment got; open stands for all of the provider''s requires_* before money is under way.';
comment on column oncehook.payments.attempt_failed is
  'An attempt was reported to have failed; then "processing" may be the older news.';

create index payments_order on oncehook.payments (tenant_id, order_id);
create index payments_charge on oncehook.payments (source_scope, provider_charge_id)
  where provider_charge_id is not null;

-- One row per refund that the provider made, ours or not. Written by the orders handler set, by events only.
create table oncehook.refunds (
  source_scope        text        not null,
  provider_refund_id  text        not null,
  provider_payment_id text        not null,
  tenant_id           text        not null,
  order_id            text        not null,
  amount_minor        bigint      not null,
  currency            text        not null,
  status              text        not null,
  ever_succeeded      boolean     not null default false,
  operation_key       text,
  created_at          timestamptz not null default now(),
  updated_at          timestamptz not null default now(),
  constraint refunds_pkey primary key (source_scope, provider_refund_id),
  constraint refunds_payment_fkey foreign key (source_scope, provider_payment_id)
    references oncehook.payments (source_scope, provider_payment_id),
  constraint refunds_order_fkey foreign key (tenant_id, order_id) references oncehook.orders (tenant_id, id),
  constraint refunds_operation_key_key unique (operation_key),
  constraint refunds_status_known check (status in ('pending', 'requires_action', 'succeeded', 'failed', 'canceled')),
  constraint refunds_succeeded_is_remembered check (status <> 'succeeded' or ever_succeeded),
  constraint refunds_amount_not_negative check (amount_minor >= 0),
  constraint refunds_currency_form check (currency ~ '^[a-z]{3}$')
);

comment on table oncehook.refunds is
  'One row per refund of the provider, made by us (operation_key) or elsewhere (null). Written by the orders handler set.';
comment on column oncehook.refunds.ever_succeeded is 'It was reported to have succeeded, whatever became of it.';

create index refunds_order on oncehook.refunds (tenant_id, order_id);
create index refunds_payment on oncehook.refunds (source_scope, provider_payment_id);

-- One row per dispute. Written by the orders handler set.
create table oncehook.disputes (
  source_scope        text        not null,
  provider_dispute_id text        not null,
  provider_payment_id text        not null,
  tenant_id           text        not null,
  order_id            text        not null,
  amount_minor        bigint      not null,
  currency            text        not null,
  status              text        not null,
  movements           jsonb       not null default '[]',
  created_at          timestamptz not null default now(),
  updated_at          timestamptz not null default now(),
  constraint disputes_pkey primary key (source_scope, provider_dispute_id),
  constraint disputes_payment_fkey foreign key (source_scope, provider_payment_id)
    references oncehook.payments (source_scope, provider_payment_id),
  constraint disputes_order_fkey foreign key (tenant_id, order_id) references oncehook.orders (tenant_id, id),
  constraint disputes_status_known check (status in (
    'warning_needs_response', 'warning_under_review', 'warning_closed', 'needs_response', 'under_review', 'lost',
    'appeal_needs_response', 'appeal_under_review', 'won', 'prevented')),
  constraint disputes_amount_not_negative check (amount_minor >= 0),
  constraint disputes_currency_form check (currency ~ '^[a-z]{3}$'),
  constraint disputes_movements_is_list check (jsonb_typeof(movements) = 'array')
);

comment on table oncehook.disputes is
  'One row per dispute. The amount may be lower or higher than the payment. Written by the orders handler set.';
comment on column oncehook.disputes.movements is
  'Balance transactions of the dispute, by ID: [{transactionId, amountMinor, currency}], negative when money was taken.';

create index disputes_order on oncehook.disputes (tenant_id, order_id);

-- Movements of money: settled payments, refunds and their reversals, dispute movements. Insert only, one row per
-- business fact. Written by the orders handler set together with the row that the entry stands for.
create table oncehook.order_ledger (
  id                  bigint generated always as identity primary key,
  source_scope        text        not null,
  entry_key           text        not null,
  kind                text        not null,
  tenant_id           text        not null,
  order_id            text        not null,
  provider_payment_id text        not null,
  amount_minor        bigint      not null,
  currency            text        not null,
  created_at          timestamptz not null default now(),
  constraint order_ledger_business_key unique (source_scope, entry_key),
  constraint order_ledger_kind_known check (kind in ('payment', 'refund', 'refund_reversal', 'dispute')),
  constraint order_ledger_currency_form check (currency ~ '^[a-z]{3}$')
);

comment on table oncehook.order_ledger is
  'Movements of money, never changed: positive is money in, negative is money out. Unique by business fact.';

create index order_ledger_order on oncehook.order_ledger (tenant_id, order_id);

create function oncehook.refuse_ledger_change() returns trigger
language plpgsql
as $$
begin
  raise exception 'The ledger is never changed: % on oncehook.% is refused', lower(tg_op), tg_table_name
    using errcode = 'restrict_violation',
          hint = 'A movement that turned out otherwise is followed by another entry, as the provider tells it.';
end
$$;

create trigger order_ledger_is_immutable
  before update or delete or truncate on oncehook.order_ledger
  for each statement execute function oncehook.refuse_ledger_change();

-- Payments that settled before there was a ledger.
insert into oncehook.order_ledger
       (source_scope, entry_key, kind, tenant_id, order_id, provider_payment_id, amount_minor, currency, created_at)
select source_scope, 'payment:' || provider_payment_id, 'payment', tenant_id, order_id, provider_payment_id,
       captured_minor, currency, created_at
  from oncehook.payments
 where captured_minor > 0;

-- Where the ledger and the rows that it stands for differ: empty, always.
create view oncehook.order_ledger_differences as
with ledger as (
  select tenant_id,
         order_id,
         case kind when 'refund_reversal' then 'refund' else kind end as about,
         currency,
         sum(amount_minor) as minor
    from oncehook.order_ledger
   group by 1, 2, 3, 4
), stored as (
  select tenant_id, order_id, 'payment' as about, currency, sum(captured_minor) as minor
    from oncehook.payments
   where captured_minor > 0
   group by 1, 2, 4
  union all
  select tenant_id, order_id, 'refund', currency, -sum(amount_minor) filter (where status = 'succeeded')
    from oncehook.refunds
   where ever_succeeded
   group by 1, 2, 4
  union all
  select dispute.tenant_id, dispute.order_id, 'dispute', movement.currency, sum(movement."amountMinor")
    from oncehook.disputes dispute,
         jsonb_to_recordset(dispute.movements) as movement("amountMinor" bigint, currency text)
   group by 1, 2, 4
), bound as (
  select orders.tenant_id,
         orders.id as order_id,
         orders.currency,
         orders.captured_minor,
         orders.refunded_minor,
         coalesce(sum(entry.amount_minor) filter (where entry.kind = 'payment'), 0) as ledger_captured,
         coalesce(-sum(entry.amount_minor) filter (where entry.kind in ('refund', 'refund_reversal')), 0)
           as ledger_refunded
    from oncehook.orders
    left join oncehook.order_ledger entry
      on entry.tenant_id = orders.tenant_id
     and entry.order_id = orders.id
     and entry.provider_payment_id = orders.provider_payment_id
   where orders.status in ('paid', 'partially_refunded', 'refunded')
   group by orders.tenant_id, orders.id
)
select coalesce(ledger.tenant_id, stored.tenant_id) as tenant_id,
       coalesce(ledger.order_id, stored.order_id) as order_id,
       coalesce(ledger.about, stored.about) as about,
       coalesce(ledger.currency, stored.currency) as currency,
       coalesce(stored.minor, 0) as stored_minor,
       coalesce(ledger.minor, 0) as ledger_minor
  from ledger
  full join stored
    on stored.tenant_id = ledger.tenant_id
   and stored.order_id = ledger.order_id
   and stored.about = ledger.about
   and stored.currency = ledger.currency
 where coalesce(stored.minor, 0) <> coalesce(ledger.minor, 0)
union all
select tenant_id, order_id, 'order captured', currency, captured_minor, ledger_captured
  from bound
 where captured_minor <> ledger_captured
union all
select tenant_id, order_id, 'order refunded', currency, refunded_minor, ledger_refunded
  from bound
 where refunded_minor <> ledger_refunded;

comment on view oncehook.order_ledger_differences is
  'Orders whose ledger differs from their payments, refunds, disputes or own amounts. A row here is a fault: report it.';

-- Refunds of a payment, for reservations.
create index operations_refund_payment on oncehook.operations ((params ->> 'scope'), (params ->> 'paymentId'))
  where kind = 'refund';

-- The business name of an effect, as operationKey() of the library makes it: parts escaped by byte, joined by colons.
create function oncehook.operation_key(variadic parts text[]) returns text
language sql
stable
set search_path = pg_catalog
as $$
  select string_agg(coalesce(escaped.part, ''), ':' order by part.position)
    from unnest(parts) with ordinality as part(value, position)
   cross join lateral (
         select string_agg(
                  case
                    when chr(byte) ~ '[A-Za-z0-9_.@+-]' and byte < 128 then chr(byte)
                    else '~' || lpad(to_hex(byte), 2, '0')
                  end,
                  '' order by at) as part
           from convert_to(part.value, 'UTF8') as bytes,
                generate_series(0, length(bytes) - 1) as at,
                get_byte(bytes, at) as byte) escaped
$$;

comment on function oncehook.operation_key is 'Name of an effect: kind and parts, escaped and joined by colons.';

-- Writes one operation that an application asked for, due at once. Returns whether the row is new.
create function oncehook.plan_operation(p_key text, p_kind text, p_tenant text, p_params jsonb) returns boolean
language plpgsql
set search_path = pg_catalog
as $$
begin
  insert into oncehook.operations (operation_key, kind, tenant_id, params, idempotency_key, status, next_attempt_at)
  values (p_key, p_kind, p_tenant, p_params,
          'oncehook:' || left(encode(sha256(convert_to(p_key, 'UTF8')), 'hex'), 40) || ':1', 'planned', now())
      on conflict (operation_key) do nothing;
  return found;
end
$$;

comment on function oncehook.plan_operation is 'Used by request_refund and request_cancel. Brakes apply when it is sent.';

-- What is left to refund of a payment: captured, less refunds made or under way, less operations not yet seen as refunds.
create function oncehook.refundable_minor(p_scope text, p_payment text) returns bigint
language sql
stable
set search_path = pg_catalog
as $$
  select payment.captured_minor
       - (select coalesce(sum(refund.amount_minor), 0)
            from oncehook.refunds refund
           where refund.source_scope = payment.source_scope
             and refund.provider_payment_id = payment.provider_payment_id
             and refund.status in ('succeeded', 'pending', 'requires_action'))
       - (select coalesce(sum((operation.params ->> 'amountMinor')::bigint), 0)
            from oncehook.operations operation
           where operation.kind = 'refund'
             and operation.params ->> 'scope' = payment.source_scope
             and operation.params ->> 'paymentId' = payment.provider_payment_id
             and operation.status <> 'refused'
             and not exists (
                   select
                     from oncehook.refunds refund
                    where refund.operation_key = operation.operation_key))
    from oncehook.payments payment
   where payment.source_scope = p_scope
     and payment.provider_payment_id = p_payment
$$;

comment on function oncehook.refundable_minor is
  'Minor units of a payment that no refund and no operation claims yet; null for an unknown payment.';

-- Asks for a refund of a paid order. The same request_id asks for the same refund, however often.
create function oncehook.request_refund(
  p_tenant       text,
  p_order        text,
  p_amount_minor bigint,
  p_request_id   text,
  p_reason       text default 'requested_by_customer'
) returns text
language plpgsql
set search_path = pg_catalog
as $$
declare
  v_order   oncehook.orders%rowtype;
  v_payment oncehook.payments%rowtype;
  v_key     text;
  v_stored  oncehook.operations%rowtype;
  v_left    bigint;
begin
  if p_request_id is null or octet_length(p_request_id) not between 1 and 255 then
    raise exception 'A refund needs a request_id of 1 to 255 bytes'
      using errcode = 'invalid_parameter_value',
            hint = 'Use an ID of your own that is the same whenever you ask for the same refund.';
  end if;
  if p_amount_minor is null or p_amount_minor <= 0 then
    raise exception 'A refund is of a positive amount in minor units, not %', coalesce(p_amount_minor::text, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  if p_reason not in ('requested_by_customer', 'duplicate', 'fraudulent') then
    raise exception 'A reason is requested_by_customer, duplicate, fraudulent or null, not %', p_reason
      using errcode = 'invalid_parameter_value';
  end if;

  select * into v_order from oncehook.orders where tenant_id = p_tenant and id = p_order for update;
  if not found then
    raise exception 'There is no order % of tenant %', p_order, p_tenant using errcode = 'no_data_found';
  end if;

  v_key := oncehook.operation_key('refund', 'requested', p_tenant, p_order, p_request_id);
  select * into v_stored from oncehook.operations where operation_key = v_key;
  if found then
    if (v_stored.params ->> 'amountMinor')::bigint = p_amount_minor then
      return v_key;
    end if;
    raise exception 'Request % of order % was for % and is now for %',
                    p_request_id, p_order, v_stored.params ->> 'amountMinor', p_amount_minor
      using errcode = 'unique_violation', hint = 'Another refund needs another request_id.';
  end if;

  if v_order.status not in ('paid', 'partially_refunded') then
    raise exception 'Order % is % and has nothing to refund', p_order, v_order.status
      using errcode = 'object_not_in_prerequisite_state',
            hint = case when v_order.status in ('awaiting_payment', 'processing', 'authorized')
                        then 'Cancel it with oncehook.request_cancel.'
                        else 'Money that a canceled order receives is refunded by itself; see oncehook.refunds.' end;
  end if;
  if v_order.dispute_state = 'open' then
    raise exception 'Order % is disputed: a refund now could pay twice', p_order
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Answer the dispute at the provider, or wait until it is closed.';
  end if;
  if v_order.hold_reason is not null then
    raise exception 'Order % is on hold: %', p_order, v_order.hold_reason
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Look at its money, then release it with oncehook.release_hold.';
  end if;
  select * into v_payment
    from oncehook.payments
   where tenant_id = p_tenant and order_id = p_order and role = 'bound' and provider_status = 'succeeded';
  if not found then
    raise exception 'Order % was paid without a payment and has nothing to refund', p_order
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  v_left := oncehook.refundable_minor(v_payment.source_scope, v_payment.provider_payment_id);
  if p_amount_minor > v_left then
    raise exception 'Order % has % left to refund, not %', p_order, v_left, p_amount_minor
      using errcode = 'invalid_parameter_value',
            hint = 'Refunds that are planned, proposed or under way count as made.';
  end if;

  perform oncehook.plan_operation(v_key, 'refund', p_tenant, jsonb_build_object(
    'scope', v_payment.source_scope,
    'paymentId', v_payment.provider_payment_id,
    'amountMinor', p_amount_minor,
    'currency', v_payment.currency,
    'orderId', p_order,
    'purpose', 'requested',
    'reason', p_reason));
  return v_key;
end
$$;

comment on function oncehook.request_refund is
  'Plans a refund under the order''s lock and returns its operation_key; the same request_id gives the same operation.';

-- Asks for an unpaid order to be canceled. Canceled at once where no payment can be told to stop; else when the provider
-- confirms. Money that comes all the same is a late payment.
create function oncehook.request_cancel(p_tenant text, p_order text) returns text
language plpgsql
set search_path = pg_catalog
as $$
declare
  v_order   oncehook.orders%rowtype;
  v_payment oncehook.payments%rowtype;
  v_key     text;
begin
  select * into v_order from oncehook.orders where tenant_id = p_tenant and id = p_order for update;
  if not found then
    raise exception 'There is no order % of tenant %', p_order, p_tenant using errcode = 'no_data_found';
  end if;
  if v_order.status in ('paid', 'partially_refunded', 'refunded') then
    raise exception 'Order % is % and can no longer be canceled', p_order, v_order.status
      using errcode = 'object_not_in_prerequisite_state', hint = 'Refund it with oncehook.request_refund.';
  end if;

  for v_payment in
    select *
      from oncehook.payments
     where tenant_id = p_tenant and order_id = p_order and provider_status in ('open', 'processing', 'authorized')
     order by role <> 'bound', provider_payment_id
  loop
    perform oncehook.plan_operation(
      oncehook.operation_key('cancel_payment_intent', p_tenant, v_payment.provider_payment_id),
      'cancel_payment_intent', p_tenant, jsonb_build_object(
        'scope', v_payment.source_scope,
        'paymentId', v_payment.provider_payment_id,
        'orderId', p_order,
        'reason', 'requested_by_customer'));
    v_key := coalesce(v_key, oncehook.operation_key('cancel_payment_intent', p_tenant, v_payment.provider_payment_id));
  end loop;

  -- A payment that is processing mostly cannot be canceled: what comes of it is refunded as late.
  if v_order.status = 'processing' or (v_key is null and v_order.status <> 'canceled') then
    update oncehook.orders set status = 'canceled', updated_at = now() where tenant_id = p_tenant and id = p_order;
  end if;
  return v_key;
end
$$;

comment on function oncehook.request_cancel is
  'Plans the cancellation of an unpaid order''s payments; returns the first operation_key, null when there is none.';

-- An operator has looked at an order whose money was in doubt.
create function oncehook.release_hold(p_tenant text, p_order text, p_by text, p_reason text) returns boolean
language plpgsql
set search_path = pg_catalog
as $$
declare
  v_hold text;
begin
  if coalesce(p_by, '') = '' or coalesce(p_reason, '') = '' then
    raise exception 'A hold is released by somebody and for a reason' using errcode = 'invalid_parameter_value';
  end if;
  select hold_reason into v_hold from oncehook.orders where tenant_id = p_tenant and id = p_order for update;
  if not found then
    raise exception 'There is no order % of tenant %', p_order, p_tenant using errcode = 'no_data_found';
  end if;
  if v_hold is null then
    return false;
  end if;
  update oncehook.orders set hold_reason = null, updated_at = now() where tenant_id = p_tenant and id = p_order;
  insert into oncehook.operator_actions (action, requested_by, reason, request_key, result)
  values ('release_hold', p_by, p_reason,
          oncehook.operation_key('release-hold', p_tenant, p_order, gen_random_uuid()::text), 'released:' || v_hold);
  return true;
end
$$;

comment on function oncehook.release_hold is
  'Takes an order''s hold away, audited; events that it quarantined can then be replayed. False when there was none.';

-- Refunds of a payment that are decided and not sent wait for a person while the payment is disputed.
create function oncehook.park_refunds(p_scope text, p_payment text, p_code text) returns integer
language plpgsql
set search_path = pg_catalog
as $$
declare
  v_parked integer;
begin
  update oncehook.operations
     set status = 'parked',
         last_error = p_code
   where kind = 'refund'
     and params ->> 'scope' = p_scope
     and params ->> 'paymentId' = p_payment
     and status in ('planned', 'proposed');
  get diagnostics v_parked = row_count;
  return v_parked;
end
$$;

comment on function oncehook.park_refunds is 'Used by the orders handler set when a payment is disputed.';

-- Up Migration

-- The application's orders. Registered by the application (insert), moved by the orders handler set.
create table oncehook.orders (
  tenant_id           text        not null,
  id                  text        not null,
  status              text        not null default 'awaiting_payment',
  provider_payment_id text,
  total_minor         bigint      not null,
  currency            text        not null,
  captured_minor      bigint      not null default 0,
  refunded_minor      bigint      not null default 0,
  dispute_state       text        not null default 'none',
  hold_reason         text,
  customer_email      text,
  created_at          timestamptz not null default now(),
  updated_at          timestamptz not null default now(),
  paid_at             timestamptz,
  constraint orders_pkey primary key (tenant_id, id),
  constraint orders_payment_unique unique (tenant_id, provider_payment_id),
  constraint orders_status_known check (
    status in ('awaiting_payment', 'processing', 'authorized', 'paid', 'partially_refunded', 'refunded', 'canceled')),
  constraint orders_dispute_state_known check (dispute_state in ('none', 'inquiry', 'open', 'won', 'lost')),
  constraint orders_total_not_negative check (total_minor >= 0),
  constraint orders_captured_not_negative check (captured_minor >= 0),
  constraint orders_refunded_within_captured check (refunded_minor between 0 and captured_minor),
  constraint orders_currency_form check (currency ~ '^[a-z]{3}$'),
  constraint orders_id_length check (length(id) between 1 and 255),
  constraint orders_paid_has_time
    check (status not in ('paid', 'partially_refunded', 'refunded') or paid_at is not null)
);

comment on table oncehook.orders is
  'Registered by the application; status moved only by the orders handler set, by guarded updates.';

-- One row per provider payment that an event named. Written by the orders handler set.
create table oncehook.payments (
  source_scope        text        not null,
  provider_payment_id text        not null,
  tenant_id           text        not null,
  order_id            text        not null,
  role                text        not null,
  provider_status     text        not null,
  captured_minor      bigint      not null,
  currency            text        not null,
  created_at          timestamptz not null default now(),
  updated_at          timestamptz not null default now(),
  constraint payments_pkey primary key (source_scope, provider_payment_id),
  constraint payments_order_fkey foreign key (tenant_id, order_id) references oncehook.orders (tenant_id, id),
  constraint payments_role_known check (role in ('bound', 'candidate', 'surplus', 'late')),
  constraint payments_captured_not_negative check (captured_minor >= 0),
  constraint payments_currency_form check (currency ~ '^[a-z]{3}$')
);

comment on table oncehook.payments is 'One row per provider payment of an order. Written by the orders handler set.';

-- At most one payment wins an order.
create unique index payments_one_bound on oncehook.payments (tenant_id, order_id) where role = 'bound';

-- The shop's own tables. oncehook's are beside them, in schema oncehook.
create schema if not exists shop;

create table if not exists shop.orders (
  id          text primary key,
  total_minor integer not null check (total_minor > 0),
  currency    text    not null check (currency ~ '^[a-z]{3}$'),
  status      text    not null default 'open' check (status in ('open', 'paid', 'shipped', 'expired')),
  payment_id  text    unique
);

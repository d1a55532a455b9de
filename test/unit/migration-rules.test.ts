import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migrationsFolder, neededMigrations } from '../../src/db/migrate.js';
import { breachesIn } from '../support/migration-rules.js';

/** What made the first installations; there were no binaries before it. */
const FIRST_RELEASE = '0003_orders';

/**
 * What is more than an addition, by the beginning of its statement, and why the binaries of the version before go on
 * all the same. An entry without such a statement is an error too.
 */
const EXCEPTIONS: readonly (readonly [migration: string, statement: string, reason: string])[] = [
  [
    '0004_senders',
    'alter table oncehook.orders drop constraint orders_id_length',
    'Counts bytes instead of characters: 0.1.0 inserts no orders, applications do, and their IDs end up in keys of limited length.',
  ],
  [
    '0006_money',
    'alter table oncehook.payments add column provider_charge_id',
    'The checks hold for all that 0.2.0 writes: it only knows payments that succeeded.',
  ],
  [
    '0007_operation_brakes',
    'alter table oncehook.operation_pauses drop constraint operation_pauses_pkey',
    'Followed by a wider key. 0.2.0 writes no pauses; operators do, and name no key.',
  ],
  [
    '0007_operation_brakes',
    'alter table oncehook.operation_pauses add constraint operation_pauses_pkey',
    'The wider key.',
  ],
];

describe('migrations after the first release only add, so that the version before goes on', async () => {
  const migrations = [...(await neededMigrations())].sort();
  const later = migrations.filter((name) => name > FIRST_RELEASE);

  it.each(later)('%s', (name) => {
    const breaches = breachesIn(readFileSync(join(migrationsFolder(), `${name}.sql`), 'utf8'));
    const allowed = EXCEPTIONS.filter(([migration]) => migration === name);
    const isAllowed = (statement: string): boolean => allowed.some(([, start]) => statement.startsWith(start));
    expect(breaches.filter(({ statement }) => !isAllowed(statement))).toEqual([]);
    const unused = allowed.filter(([, start]) => !breaches.some(({ statement }) => statement.startsWith(start)));
    expect(unused).toEqual([]);
  });

  it('are there', () => {
    expect(migrations).toContain(FIRST_RELEASE);
    expect(later.length).toBeGreaterThan(0);
  });
});

describe('the rule finds', () => {
  it.each([
    ['drop table oncehook.orders', 'not known to add only: drop table'],
    ['drop view oncehook.v', 'not known to add only: drop view'],
    ['drop function oncehook.f(text)', 'not known to add only: drop function'],
    ['drop index oncehook.i', 'not known to add only: drop index'],
    ['alter table oncehook.orders rename to o', 'not an added column: rename to'],
    ['alter table oncehook.orders rename column id to key', 'not an added column: rename column'],
    ['alter table oncehook.orders drop column id', 'not an added column: drop column'],
    ['ALTER TABLE oncehook.orders\n  ALTER COLUMN id TYPE uuid', 'not an added column: alter column'],
    ['alter table oncehook.orders add column a text, drop column b', 'not an added column: drop column'],
    ['alter table oncehook.orders add constraint c check (a > 0)', 'not an added column: add constraint'],
    ['alter table oncehook.orders add column a text not null', 'a column that must have a value and has no default'],
    ['alter table oncehook.orders add column a text unique', 'a column whose values must differ'],
    ['create unique index i on oncehook.orders (a)', 'not known to add only: create unique'],
    [
      'create trigger t before insert on oncehook.orders for each row execute function f()',
      'not known to add only: create trigger',
    ],
    ['create or replace view oncehook.v as select 1', 'not known to add only: create or'],
    ['update oncehook.orders set a = 1', 'not known to add only: update oncehook.orders'],
    ['delete from oncehook.orders', 'not known to add only: delete from'],
    ['insert into oncehook.orders values (1)', 'not known to add only: insert into'],
    ["alter type oncehook.t add value 'a'", 'not known to add only: alter type'],
  ])('%s', (sql, rule) => {
    expect(breachesIn(`-- Up Migration\n${sql};`).map((breach) => breach.rule)).toEqual([rule]);
  });

  it.each([
    'alter table oncehook.orders add column a numeric(10, 2) not null default 0, add column b text',
    'create table oncehook.t (a text not null unique); create unique index i on oncehook.t (a); alter table oncehook.t add constraint c check (true)',
    'create table oncehook.t (a text); create trigger t before update or delete on oncehook.t for each row execute function f()',
    'create function oncehook.f() returns void language sql as $$ delete from oncehook.orders; drop table x $$',
    "comment on column oncehook.orders.id is 'it''s; drop table x'",
    'create index i on oncehook.orders (a) where a is not null',
  ])('nothing in: %s', (sql) => {
    expect(breachesIn(sql)).toEqual([]);
  });
});

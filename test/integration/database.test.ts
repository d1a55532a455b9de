import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { checkDatabase } from '../../src/db/check-database.js';
import { migrate, neededMigrations, schemaState } from '../../src/db/migrate.js';
import { printMigrations } from '../../src/db/print-migrations.js';
import { createPool } from '../../src/db/pool.js';
import { inTransaction } from '../../src/db/transaction.js';
import { DatabaseUnusableError } from '../../src/errors.js';
import { createLogger } from '../../src/observability/logger.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { token } from '../support/payment-event.js';

const log = createLogger('silent', 'test');

async function asAdmin(sql: string): Promise<void> {
  const admin = new pg.Client(inject('postgresUrl'));
  await admin.connect();
  try {
    await admin.query(sql);
  } finally {
    await admin.end();
  }
}

/** An empty database; dropped with its server. */
async function emptyDatabase(options = ''): Promise<string> {
  const name = `empty_${token()}`;
  await asAdmin(`create database ${name} ${options}`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  return url.href;
}

describe('migrations', () => {
  it('are applied once by twenty migrators at once', async () => {
    const url = await emptyDatabase();
    const results = await Promise.all(Array.from({ length: 20 }, () => migrate({ url, log })));
    const working = results.filter(({ applied }) => applied.length > 0);
    expect(working).toHaveLength(1);
    expect(working[0]?.applied).toEqual([
      '0001_inbox',
      '0002_operations',
      '0003_orders',
      '0004_senders',
      '0005_ledger_calendar',
      '0006_money',
      '0007_operation_brakes',
      '0008_shadow_latest_state',
    ]);
    expect(await migrate({ url, log })).toMatchObject({ applied: [] });
  });

  it('leave a schema that knows whether it is behind, and does not mind being ahead', async () => {
    const url = await emptyDatabase();
    const client = new pg.Client(url);
    await client.connect();
    expect(await schemaState(client)).toBe('behind');
    await migrate({ url, log });
    expect(await schemaState(client)).toBe('ok');
    await client.query(
      `insert into oncehook.schema_migrations (name, run_on) values ('9999_of_a_later_version', now())`,
    );
    expect(await schemaState(client)).toBe('ok');
    await client.query(`delete from oncehook.schema_migrations where name = '0004_senders'`);
    expect(await schemaState(client)).toBe('behind');
    await client.end();
  });

  it('can be printed and applied by other means: migrate then has nothing to do', async () => {
    const url = await emptyDatabase();
    const client = new pg.Client(url);
    await client.connect();
    expect(await printMigrations(client)).toBe(await printMigrations(null));
    await client.query(await printMigrations(client));
    expect(await schemaState(client)).toBe('ok');
    expect(await migrate({ url, log })).toMatchObject({ applied: [] });
    expect(await printMigrations(client)).toBe('');
    await client.query(`delete from oncehook.schema_migrations where name > '0003'`);
    expect((await printMigrations(client)).match(/^begin;$/gm)).toHaveLength((await neededMigrations()).length - 2);
    await client.end();
  });

  it('are refused on a database that is not UTF-8, in a sentence that says what to do', async () => {
    const url = await emptyDatabase(`encoding 'SQL_ASCII' template template0`);
    await expect(migrate({ url, log })).rejects.toThrow(DatabaseUnusableError);
    await expect(migrate({ url, log })).rejects.toThrow(/SQL_ASCII.*create database/);
  });

  it('are refused on a database that cannot be written', async () => {
    const url = await emptyDatabase();
    await asAdmin(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`);
    await expect(migrate({ url, log })).rejects.toThrow(/read-only.*primary/);
  });

  it('are refused on a server that is too old', async () => {
    const old = { query: () => Promise.resolve({ rows: [{ version: 14, encoding: 'UTF8', read_only: 'off' }] }) };
    await expect(checkDatabase(old as never)).rejects.toThrow(/PostgreSQL 14 is too old.*15/);
  });

  it('warn of settings that lose commits in a power cut', async () => {
    // The shared test server runs with fsync off.
    expect((await migrate({ url: await emptyDatabase(), log })).warnings).toEqual([
      expect.stringContaining('fsync is off'),
    ]);
  });
});

describe('what the schema refuses', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await openDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });

  const columns = `source_scope, event_id, source, event_type, request_id, signed_sha256, secret_position`;
  const values = `'s', 'e', 'stripe', 't', 'r', decode(repeat('00', 32), 'hex'), 0`;
  it.each([
    ['a finished row without an outcome', `status, completed_at`, `'done', now()`],
    ['a finished row without its time', `status, outcome`, `'done', 'applied'`],
    ['an outcome on a pending row', `outcome`, `'applied'`],
    ['a quarantined row without a reason', `status`, `'quarantined'`],
    ['an unknown status', `status`, `'lost'`],
  ])('%s', async (_what, column, value) => {
    await expect(
      database.pool.query(`insert into oncehook.webhook_inbox (${columns}, ${column}) values (${values}, ${value})`),
    ).rejects.toMatchObject({ code: '23514' });
  });

  it.each([`E'a\\nb'`, `'ä'`, `''`, `repeat('e', 301)`])('the event ID %s', async (id) => {
    await expect(
      database.pool.query(`insert into oncehook.webhook_inbox (${columns}) values (${values.replace(`'e'`, id)})`),
    ).rejects.toMatchObject({ code: '23514' });
  });

  it('two orders of one payment, and a negative or half-currency total', async () => {
    const insert = (order: string, total: number, currency: string, payment: string | null): Promise<unknown> =>
      database.pool.query(
        `insert into oncehook.orders (tenant_id, id, total_minor, currency, provider_payment_id) values ('t', $1, $2, $3, $4)`,
        [order, total, currency, payment],
      );
    await insert('a', 1, 'usd', 'pi_1');
    await expect(insert('b', 1, 'usd', 'pi_1')).rejects.toMatchObject({ code: '23505' });
    await expect(insert('c', -1, 'usd', null)).rejects.toMatchObject({ code: '23514' });
    await expect(insert('d', 1, 'USD', null)).rejects.toMatchObject({ code: '23514' });
  });
});

describe('our sessions', () => {
  it('commit durably whatever the database and the role say, and wait for nothing without a bound', async () => {
    const url = await emptyDatabase();
    await asAdmin(`alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`);
    const pool = createPool({
      url,
      applicationName: 'test',
      max: 2,
      statementTimeoutMs: 6_000,
      lockTimeoutMs: 3_000,
      log,
    });
    const { rows } = await pool.query(
      `select name, setting from pg_settings where name in ('synchronous_commit', 'statement_timeout', 'lock_timeout', 'TimeZone') order by name collate "C"`,
    );
    expect(rows).toEqual([
      { name: 'TimeZone', setting: 'UTC' },
      { name: 'lock_timeout', setting: '3000' },
      { name: 'statement_timeout', setting: '6000' },
      { name: 'synchronous_commit', setting: 'on' },
    ]);
    await pool.end();
  });

  it('survive being cut, checked out or idle, and never come back in the middle of a transaction', async () => {
    const database = await openDatabase();
    const pool = createPool({ url: database.url, applicationName: 'cut me', max: 3, statementTimeoutMs: 6_000, log });
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cut me' and datname = current_database()`;
    const broken = inTransaction(pool, async (tx) => {
      await tx.query('select 1');
      await database.pool.query(cut);
      await tx.query('select 1');
    });
    await expect(broken).rejects.toThrow();
    await expect(inTransaction(pool, (tx) => tx.query('select 1/0'))).rejects.toThrow();
    const { rows } = await pool.query(
      `select txid_current_if_assigned() is null as outside, now() = statement_timestamp() as alone`,
    );
    expect(rows).toEqual([{ outside: true, alone: true }]);
    await pool.end();
    await database.drop();
  });

  it('run the loser of a deadlock again', async () => {
    const database = await openDatabase();
    const pool = createPool({ url: database.url, applicationName: 'test', max: 4, statementTimeoutMs: 6_000, log });
    await pool.query('create table pair (id integer primary key, n integer not null)');
    await pool.query('insert into pair values (1, 0), (2, 0)');
    let attempts = 0;
    let bothHoldOne: () => void = () => undefined;
    const heldBoth = new Promise<void>((resolve) => (bothHoldOne = resolve));
    const both = (first: number, second: number): Promise<void> =>
      inTransaction(pool, async (tx) => {
        attempts += 1;
        await tx.query('update pair set n = n + 1 where id = $1', [first]);
        if (attempts === 2) bothHoldOne();
        await heldBoth;
        await tx.query('update pair set n = n + 1 where id = $1', [second]);
      });
    await Promise.all([both(1, 2), both(2, 1)]);
    // The loser may be quick enough to meet the winner a second time.
    expect(attempts).toBeGreaterThanOrEqual(3);
    expect((await pool.query('select n from pair order by id')).rows).toEqual([{ n: 2 }, { n: 2 }]);
    await pool.end();
    await database.drop();
  });
});

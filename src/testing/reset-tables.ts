import type { Pool } from 'pg';
import { sqlstateOf } from '../db/error-kinds.js';

/** Where the rows lie that tables had when they were remembered. */
const KEPT_SCHEMA = 'oncehook_kept';

const INSUFFICIENT_PRIVILEGE = '42501';

interface Table {
  /** Quoted, with its schema. */
  readonly name: string;
  readonly filled: boolean;
  /** Quoted; without generated columns. */
  readonly columns: string;
}

interface KeptTable {
  readonly name: string;
  readonly kept: string;
  readonly columns: string;
}

interface Plan {
  readonly emptied: readonly string[];
  readonly kept: readonly KeptTable[];
  /** Statements that set each sequence back. */
  readonly sequences: readonly string[];
}

/**
 * Remembers the rows that every table has now (of oncehook's and the application's migrations), and gives a function
 * that brings all tables and sequences back to them. Rows are deleted rather than tables truncated: a truncate makes new
 * files, which takes longer than a whole schedule.
 */
export async function rememberTables(pool: Pool): Promise<() => Promise<void>> {
  const plan = await planReset(pool);
  const byDelete = resetByDelete(plan);
  let statement = byDelete;
  return async () => {
    try {
      await pool.query(statement);
    } catch (error) {
      // Only a superuser may switch foreign keys and triggers off.
      if (statement !== byDelete || sqlstateOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
      statement = resetByTruncate(plan);
      await pool.query(statement);
    }
  };
}

async function planReset(pool: Pool): Promise<Plan> {
  const tables = await readTables(pool);
  const filled = tables.filter((table) => table.filled);
  await pool.query(`create schema if not exists ${KEPT_SCHEMA}`);
  const kept = filled.map(({ name, columns }, at) => ({ name, columns, kept: `${KEPT_SCHEMA}.t${at}` }));
  for (const table of kept) {
    await pool.query(`create table ${table.kept} as select ${table.columns} from ${table.name}`);
  }
  return {
    emptied: tables.filter((table) => !table.filled).map(({ name }) => name),
    kept,
    sequences: await readSequences(pool),
  };
}

async function readTables(pool: Pool): Promise<readonly Table[]> {
  const { rows } = await pool.query<{ name: string; columns: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name,
            (select string_agg(format('%I', a.attname), ', ' order by a.attnum)
               from pg_attribute a
              where a.attrelid = c.oid
                and a.attnum > 0
                and not a.attisdropped
                and a.attgenerated = '') as columns
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p')
        and not c.relispartition
        and n.nspname !~ '^pg_'
        and n.nspname <> 'information_schema'
      order by c.oid`,
  );
  if (rows.length === 0) return [];
  const probes = rows.map(({ name }) => `exists (select from ${name})`).join(', ');
  const { rows: probed } = await pool.query<{ filled: readonly boolean[] }>(`select array[${probes}] as filled`);
  return rows.map((row, at) => ({ ...row, filled: probed[0]?.filled[at] === true }));
}

async function readSequences(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ statement: string }>(
    `select format('select setval(%L, %s, %L)', format('%I.%I', schemaname, sequencename),
                   coalesce(last_value, start_value), last_value is not null) as statement
       from pg_sequences
      where schemaname !~ '^pg_'`,
  );
  return rows.map(({ statement }) => statement);
}

function resetByDelete({ emptied, kept, sequences }: Plan): string {
  return [
    'begin',
    `set local session_replication_role = replica`,
    ...emptied.map((name) => `delete from ${name}`),
    ...kept.map(restoreIfChanged),
    ...sequences,
    'commit',
  ].join(';\n');
}

/** `setup` may have filled a table that handlers change: its rows are compared, and put back when they differ. */
function restoreIfChanged(table: KeptTable): string {
  return [
    `do $reset$ begin`,
    `  if ${contentOf(table.name, table)} <> ${contentOf(table.kept, table)} then`,
    `    delete from ${table.name};`,
    `    ${restore(table)};`,
    `  end if;`,
    `end $reset$`,
  ].join('\n');
}

function contentOf(name: string, { columns }: KeptTable): string {
  const row = `row(${columns})::text`;
  return `(select coalesce(string_agg(${row}, chr(10) order by ${row}), '') from ${name})`;
}

function restore({ name, kept, columns }: KeptTable): string {
  return `insert into ${name} (${columns}) overriding system value select ${columns} from ${kept}`;
}

/** Tables come in the order in which they were made, so what a row refers to is there before it. */
function resetByTruncate({ emptied, kept, sequences }: Plan): string {
  const emptiedNames = emptied.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ');
  return [
    'begin',
    `do $reset$
     declare
       candidate text;
       is_filled boolean;
       filled text[] := '{}';
     begin
       foreach candidate in array array[${emptiedNames}]::text[] loop
         execute 'select exists (select from ' || candidate || ')' into is_filled;
         if is_filled then filled := filled || candidate; end if;
       end loop;
       if filled <> '{}' then execute 'truncate ' || array_to_string(filled, ', ') || ' cascade'; end if;
     end $reset$`,
    ...(kept.length === 0 ? [] : [`truncate ${kept.map(({ name }) => name).join(', ')} cascade`]),
    ...kept.map(restore),
    ...sequences,
    'commit',
  ].join(';\n');
}

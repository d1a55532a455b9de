/** A statement that could stop the binaries of the version before. */
export interface Breach {
  readonly rule: string;
  readonly statement: string;
}

/**
 * What in a migration does more than add: the binaries of the version before run on while and after it is applied, so
 * nothing that they read or write may go, change its type, or be refused where it was not. Read by the statement's form;
 * what a function's body does is not looked into. Pure.
 */
export function breachesIn(sql: string): readonly Breach[] {
  const statements = statementsOf(sql);
  const isNew = (table: string): boolean =>
    statements.some((statement) => new RegExp(`^create table ${escapeRegExp(table)}\\b`).test(statement));
  return statements.flatMap((statement) => {
    const rules = rulesBroken(statement, isNew);
    return rules.map((rule) => ({ rule, statement }));
  });
}

/** Forms that add and touch nothing of what is there. */
const HARMLESS = [
  /^comment on /,
  /^create (or replace )?function /,
  /^create view /,
  /^create table /,
  /^create sequence /,
  /^create index /,
];

/** Forms that are harmless on a table of the same migration. */
const ON_TABLE = /^(?:create unique index \S+ on|create trigger .*? on|insert into|alter table) (\S+)/;

function rulesBroken(statement: string, isNew: (table: string) => boolean): readonly string[] {
  if (HARMLESS.some((form) => form.test(statement))) return [];
  const table = ON_TABLE.exec(statement)?.[1];
  if (table !== undefined && isNew(table)) return [];
  if (!statement.startsWith('alter table ')) return [`not known to add only: ${statement.split(' ', 2).join(' ')}`];
  return clausesOf(statement).flatMap((clause) => {
    if (!clause.startsWith('add column ')) return [`not an added column: ${clause.split(' ', 2).join(' ')}`];
    if (/\bnot null\b/.test(clause) && !/\bdefault\b/.test(clause))
      return ['a column that must have a value and has no default'];
    return /\b(unique|primary key)\b/.test(clause) ? ['a column whose values must differ'] : [];
  });
}

/** The parts of an `alter table`, which commas separate outside of parentheses. */
function clausesOf(statement: string): readonly string[] {
  const text = statement.replace(/^alter table (only )?\S+ /, '');
  const clauses: string[] = [];
  let clause = '';
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character !== ',' || depth > 0) clause += character;
    else {
      clauses.push(clause);
      clause = '';
    }
  }
  return [...clauses, clause].map((part) => part.trim());
}

/** Lower-case, in one line each; without comments, strings and bodies of functions. */
function statementsOf(sql: string): readonly string[] {
  return sql
    .replace(/--[^\n]*/g, '')
    .replace(/\$\$[^]*?\$\$/g, "''")
    .replace(/'(?:[^']|'')*'/g, "''")
    .toLowerCase()
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

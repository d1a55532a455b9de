import type { ClientBase } from 'pg';
import { SHADOW_OUTCOMES } from '../domain/shadow.js';
import { CommandError } from '../errors.js';
import type { ViewName } from './view-name.js';

type Queryable = Pick<ClientBase, 'query'>;

/** Which of the columns that a view may have it has. */
export interface OutcomeView {
  readonly view: ViewName;
  readonly hasScope: boolean;
  readonly hasEffects: boolean;
  readonly hasTime: boolean;
}

/** What a view must have to be compared with. */
const NEXT_STEP = 'a view needs event_id and outcome, see docs/shadow-mode.md';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isArray: boolean;
}

/**
 * Looks at the view that the application's outcomes are read from.
 * @throws CommandError `not_found` when there is none, `usage` when it lacks columns, has one of a type that cannot be
 * read, or says something else than our outcomes.
 */
export async function openOutcomeView(db: Queryable, view: ViewName): Promise<OutcomeView> {
  const columns = await readColumns(db, view);
  if (columns.size === 0) {
    throw new CommandError('not_found', `There is no view ${view.quoted} (names are taken as written): ${NEXT_STEP}`);
  }
  const missing = ['event_id', 'outcome'].filter((name) => !columns.has(name));
  if (missing.length > 0) {
    throw new CommandError('usage', `${view.quoted} has no column ${missing.join(' and no column ')}: ${NEXT_STEP}`);
  }
  const effects = columns.get('effects');
  if (effects?.isArray === false) {
    throw new CommandError('usage', `${view.quoted}: effects must be text[], a list of kinds; it is ${effects.type}`);
  }
  const handledAt = columns.get('handled_at');
  if (handledAt !== undefined && handledAt.type !== 'timestamp with time zone') {
    throw new CommandError(
      'usage',
      `${view.quoted}: handled_at must be a timestamptz (for a timestamp: handled_at at time zone 'UTC'); it is ${handledAt.type}`,
    );
  }
  await refuseUnknownWords(db, view);
  return {
    view,
    hasScope: columns.has('source_scope'),
    hasEffects: effects !== undefined,
    hasTime: handledAt !== undefined,
  };
}

async function readColumns(db: Queryable, { schema, name }: ViewName): Promise<ReadonlyMap<string, Column>> {
  const { rows } = await db.query<Column>(
    `select a.attname as name,
            regexp_replace(format_type(a.atttypid, a.atttypmod), '\\(\\d+\\)', '') as type,
            t.typcategory = 'A' as "isArray"
       from pg_catalog.pg_class c
       join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       join pg_catalog.pg_attribute a on a.attrelid = c.oid
       join pg_catalog.pg_type t on t.oid = a.atttypid
      where n.nspname = $1
        and c.relname = $2
        and c.relkind in ('v', 'm', 'r', 'p', 'f')
        and a.attnum > 0
        and not a.attisdropped`,
    [schema, name],
  );
  return new Map(rows.map((column) => [column.name, column]));
}

async function refuseUnknownWords(db: Queryable, { quoted }: ViewName): Promise<void> {
  const { rows } = await db.query<{ word: string | null; event: string | null }>(
    `select v.outcome::text as word, min(v.event_id::text) as event
       from ${quoted} v
      where v.event_id is null
         or v.outcome is null
         or not (v.outcome::text = any ($1))
      group by v.outcome::text
      order by word nulls first
      limit 5`,
    [SHADOW_OUTCOMES],
  );
  if (rows.length === 0) return;
  const [first] = rows;
  if (first?.event === null) {
    throw new CommandError('usage', `${quoted} has rows without an event_id: leave them out of the view`);
  }
  const words = rows.map(({ word, event }) => `${word === null ? 'null' : `'${word}'`} (event ${event ?? 'null'})`);
  throw new CommandError(
    'usage',
    `${quoted} says outcome ${words.join(', ')}: map your words in the view, with case, to ${SHADOW_OUTCOMES.join(', ')}`,
  );
}

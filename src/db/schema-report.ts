import type { ClientBase } from 'pg';
import { appliedMigrations, neededMigrations } from './migrate.js';
import { RELEASES, type Release } from './releases.js';

/** A database's schema as this version finds it. */
export interface SchemaReport {
  readonly state: SchemaState;
  /** The newest released version whose migrations are all there; `null` before the first. */
  readonly version: string | null;
  /** What `migrate` would apply, in order. */
  readonly pending: readonly string[];
  /** Applied migrations that this version does not know: a later version's. */
  readonly unknown: readonly string[];
  readonly judgement: string;
}

export type SchemaState =
  /** No schema yet: a first installation. */
  | 'empty'
  /** Nothing to apply. */
  | 'current'
  /** Nothing to apply, and more there than this version needs: a later version's schema, which it tolerates. */
  | 'ahead'
  /** Migrations are to be applied, and what runs now goes on beside them. */
  | 'behind'
  /** Migrations are to be applied, and what runs now may not go on beside them. */
  | 'far_behind'
  /** `migrate` would refuse. */
  | 'unfit';

/** Whether an upgrade may go on without stopping what runs. */
export function isFit({ state }: SchemaReport): boolean {
  return state !== 'far_behind' && state !== 'unfit';
}

/**
 * What an upgrade to `version` would do to the schema, and whether receivers and workers of the version before go on
 * with it. Only reads.
 */
export async function describeSchema(db: Pick<ClientBase, 'query'>, version: string): Promise<SchemaReport> {
  const { rows } = await db.query<{ count: string }>(
    `select count(*) as count
       from pg_class
      where relnamespace = (select oid from pg_namespace where nspname = 'oncehook')
        and relkind = 'r'
        and relname <> 'schema_migrations'`,
  );
  const facts = { applied: await appliedMigrations(db), hasTables: rows[0]?.count !== '0' };
  return judgeSchema(facts, { needed: await neededMigrations(), releases: RELEASES, version });
}

/** Migrations are in the order of their names, which begin with a number. */
export function judgeSchema(
  { applied, hasTables }: { readonly applied: readonly string[]; readonly hasTables: boolean },
  target: { readonly needed: readonly string[]; readonly releases: readonly Release[]; readonly version: string },
): SchemaReport {
  const needed = [...target.needed].sort();
  const pending = needed.filter((name) => !applied.includes(name));
  const unknown = applied.filter((name) => !needed.includes(name));
  const version = target.releases.findLast(({ lastMigration }) => isThere(lastMigration, applied, needed))?.version;
  const report = (state: SchemaState, judgement: string): SchemaReport => ({
    state,
    version: version ?? null,
    pending,
    unknown,
    judgement,
  });

  if (applied.length === 0) {
    return hasTables
      ? report(
          'unfit',
          'Schema oncehook has tables and no record of migrations: was schema_migrations deleted? Restore it',
        )
      : report('empty', 'There is no schema yet: a first installation');
  }
  const gap = pending.find((name) => applied.some((done) => done > name));
  if (gap !== undefined) {
    return report(
      'unfit',
      `${gap} was not applied and later ones were: migrate refuses this. Restore schema_migrations, or the database`,
    );
  }
  if (pending.length === 0) {
    return unknown.length === 0
      ? report('current', 'Nothing to apply')
      : report('ahead', 'A later version has migrated this database; this version works on it');
  }
  const before = target.releases.findLast((release) => release.version !== target.version);
  if (before === undefined || version === before.version || version === target.version) {
    return report('behind', 'Receivers and workers that fit to the schema as it is go on after these migrations');
  }
  return report(
    'far_behind',
    `The schema is older than that of ${before.version}, and only receivers and workers of ${before.version} are known to go on ` +
      `after these migrations. Upgrade to ${before.version} first, or stop all receivers and workers before you migrate`,
  );
}

/** All up to a migration; one may be unknown to this version where it is the older one. */
function isThere(last: string, applied: readonly string[], needed: readonly string[]): boolean {
  return applied.includes(last) && needed.every((name) => name > last || applied.includes(name));
}

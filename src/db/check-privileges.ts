import type { ClientBase } from 'pg';

/** The next step for a role that lacks a privilege. */
export const HOW_TO_GRANT = 'grant it what docs/upgrading.md names (when a DBA applies the SQL)';

/**
 * Compares what the session's role may do in schema `oncehook` with what docs/upgrading.md grants. Warns and refuses
 * nothing: a role may be meant for less, and a later version's tables are nothing to this one.
 * @returns one sentence, or none when nothing is missing.
 */
export async function checkPrivileges(db: Pick<ClientBase, 'query'>): Promise<readonly string[]> {
  const { rows } = await db.query<{ role: string; lacking: readonly string[] }>(
    `select current_user::text as role,
            coalesce(array_agg(part.relname::text order by part.relname), '{}') as lacking
       from pg_catalog.pg_class part
      where part.relnamespace = to_regnamespace('oncehook')
        and case part.relkind
              when 'S' then
                -- An identity column's sequence needs no right of its own.
                not exists (
                  select
                    from pg_catalog.pg_depend
                   where classid = 'pg_class'::regclass
                     and objid = part.oid
                     and deptype = 'i')
                and not (    has_sequence_privilege(part.oid, 'usage')
                         and has_sequence_privilege(part.oid, 'select')
                         and has_sequence_privilege(part.oid, 'update'))
              when 'v' then not has_table_privilege(part.oid, 'select')
              when 'r' then
                part.relname <> 'schema_migrations'
                and not (    has_table_privilege(part.oid, 'select')
                         and has_table_privilege(part.oid, 'insert')
                         and has_table_privilege(part.oid, 'update')
                         and has_table_privilege(part.oid, 'delete'))
              else false
            end`,
  );
  return rows
    .filter(({ lacking }) => lacking.length > 0)
    .map(
      ({ role, lacking }) =>
        `the role ${role} of DATABASE_URL lacks rights in schema oncehook on ${lacking.join(', ')}; ` + HOW_TO_GRANT,
    );
}

import type { ClientBase } from 'pg';

/**
 * SQL that tells whether a row of `operations` is held back by a pause, by the row's name in the statement. A pause is
 * of a kind, a tenant and a scope, each possibly `*`; an operation's scope is what its parameters call so.
 */
export function pausedSql(row: string): string {
  return `exists (
              select
                from oncehook.operation_pauses pause
               where pause.kind in (${row}.kind, '*')
                 and pause.tenant_id in (${row}.tenant_id, '*')
                 and (pause.scope = '*' or pause.scope = ${row}.params->>'scope'))`;
}

/** Who set a pause that no person asked for. */
const PAUSED_BY_ONCEHOOK = 'oncehook';

/**
 * Pauses every operation of an account, because the other side does not let us in there.
 * @returns whether it was not paused so before.
 */
export async function pauseScope(db: Pick<ClientBase, 'query'>, scope: string, reason: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into oncehook.operation_pauses (kind, tenant_id, scope, requested_by, reason)
     values ('*', '*', $1, $2, $3)
         on conflict (kind, tenant_id, scope) do nothing`,
    [scope, PAUSED_BY_ONCEHOOK, reason],
  );
  return rowCount === 1;
}

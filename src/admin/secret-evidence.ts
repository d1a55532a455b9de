import type { ClientBase } from 'pg';

/** Which of a source's secrets matched last, and when; positions count from 0. */
export interface SecretEvidence {
  readonly source: string;
  readonly position: number;
  readonly lastMatchedAt: Date;
}

/** Looks up the last accepted event of each secret: one step in an index for each, however many events there are. */
export async function findSecretEvidence(
  db: Pick<ClientBase, 'query'>,
  secrets: readonly { readonly source: string; readonly position: number }[],
): Promise<readonly SecretEvidence[]> {
  const { rows } = await db.query<SecretEvidence>(
    `select asked.source, asked.position::integer as position, last.received_at as "lastMatchedAt"
       from unnest($1::text[], $2::smallint[]) as asked (source, position)
      cross join lateral (
        select i.received_at
          from oncehook.webhook_inbox i
         where i.source = asked.source
           and i.secret_position = asked.position
         order by i.received_at desc
         limit 1) as last`,
    [secrets.map(({ source }) => source), secrets.map(({ position }) => position)],
  );
  return rows;
}

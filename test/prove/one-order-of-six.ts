import { applied, defineHandlers, duplicate, superseded } from '../../src/index.js';
import { defineProof, type Proof, type TestDatabase } from '../../src/testing/index.js';
import { objectOf, shopEvent } from './shop.js';

/** Six steps of a parcel, each told once. A mistake shows in one of their 720 orders only, `unlucky`. */
export function parcelOfSix(unlucky: readonly string[]): Proof {
  const handlers = defineHandlers({
    'parcel.seen': async (event, tx) => {
      const { id } = objectOf(event);
      const { rows } = await tx.query<{ seen: readonly string[] }>('select seen from parcel for update');
      const seen = rows[0]?.seen ?? [];
      if (seen.includes(id)) return duplicate();
      const now = [...seen, id];
      await tx.query('update parcel set seen = $1', [now]);
      if (now.join() !== unlucky.join()) return applied();
      await tx.query('update parcel set is_lost = true');
      return superseded();
    },
  });
  return defineProof({
    handlers,
    setup: (db) => db.query(`create table parcel (seen text[] not null, is_lost boolean not null)`),
    given: (db) => db.query(`insert into parcel values ('{}', false)`),
    events: ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => shopEvent('parcel.seen', { id }, id)),
    state: async (db: TestDatabase) => (await db.query<Record<string, unknown>>('select is_lost from parcel')).rows,
  });
}

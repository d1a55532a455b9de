import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { ROOT } from '../support/dist.js';
import { runCommand, type CommandResult } from '../support/run-command.js';
import { openTempDir, removeDir } from '../support/temp-dir.js';

let dir: string;
/** Files as an application has them: TypeScript that was never built, beside an installed package. */
let mistake: string;
let sound: string;
let lostUpdate: string;
let database: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  dir = openTempDir();
  mkdirSync(join(dir, 'node_modules'));
  symlinkSync(ROOT, join(dir, 'node_modules/oncehook'));
  symlinkSync(join(ROOT, 'node_modules/pg'), join(dir, 'node_modules/pg'));
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }');
  [mistake, sound, lostUpdate] = ['c17-last-refund-only', 'c14-corrected', 'lost-update'].map(install) as [
    string,
    string,
    string,
  ];
  install('shop');
  database = await openDatabase();
  env = { DATABASE_URL: database.url };
});
afterAll(async () => {
  await database.drop();
  removeDir(dir);
});

/** One of the repository's proofs, with the imports that an application would write. */
function install(name: string): string {
  const file = join(dir, `${name}.ts`);
  const text = readFileSync(join(ROOT, 'test/prove', `${name}.ts`), 'utf8');
  writeFileSync(
    file,
    text.replaceAll('../../src/testing/index.js', 'oncehook/testing').replaceAll('../../src/index.js', 'oncehook'),
  );
  return file;
}

function write(name: string, text: string): string {
  const file = join(dir, name);
  writeFileSync(file, text);
  return file;
}

/** The sound proof with something more, in a file of its own. */
function soundWith(
  name: string,
  { before = '', more = '' }: { readonly before?: string; readonly more?: string },
): string {
  return write(
    name,
    `import { proof as sound } from ${JSON.stringify(sound)};\n${before}\nexport const proof = { ...sound, ${more} };\n`,
  );
}

function prove(...args: readonly string[]): Promise<CommandResult> {
  return runCommand(['prove', ...args], env);
}

interface ProveDocument {
  readonly verdict: string;
  readonly seed: number;
  readonly schedules: number;
  readonly exhaustive: boolean;
  readonly counterexample: {
    readonly kind: string;
    readonly steps: readonly string[];
    readonly differences: readonly { readonly path: string; readonly expected: unknown; readonly found: unknown }[];
    readonly schedule: string;
    readonly repeat: string;
  } | null;
}

describe('oncehook prove', () => {
  it('ends with 0 for handlers that are proven, from a TypeScript file that was never built', async () => {
    const { code, stdout } = await prove(sound, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: 'proven', exhaustive: true, counterexample: null });
  });

  it('says how each event ends in the given order', async () => {
    const more = `events: [...sound.events, { type: 'charge.updated', payload: {} }],`;
    const { code, stdout } = await prove(soundWith('beside.ts', { more }), '--schedules', '1');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /In the given order the events end as:\n {2}payment_intent.succeeded: applied\n {2}charge.updated: ignored/,
    );
  });

  it('ends with 1 and tells the counterexample, and the line that repeats just it', async () => {
    const { code, stdout } = await prove(mistake, '--seed', '5');
    expect(code).toBe(1);
    const repeat = `oncehook prove ${mistake} --seed 5 --repeat 1,2,1copy`;
    expect(stdout).toContain('  3. refund.created (evt_r1) again, under a new event ID: done, applied\n');
    expect(stdout).toContain('state[0].refunded_minor\n    - "4000"\n    + "7000"\n');
    expect(stdout).toContain(`Repeat just this schedule:\n  ${repeat}\n`);

    const again = await prove(...repeat.split(' ').slice(2), '--json');
    expect(again.code).toBe(1);
    const document = JSON.parse(again.stdout) as ProveDocument;
    expect(document).toMatchObject({ verdict: 'counterexample', seed: 5, schedules: 1 });
    expect(document.counterexample).toMatchObject({
      kind: 'end',
      schedule: '1,2,1copy',
      differences: [{ path: 'state[0].refunded_minor', expected: '4000', found: '7000' }],
    });
    expect(document.counterexample?.steps).toHaveLength(3);
  });

  it('says of a single schedule that it ends well', async () => {
    const { code, stdout } = await prove(mistake, '--repeat', '2,1');
    expect([code, stdout]).toEqual([0, 'This schedule ends as it should.\n']);
  });

  it('tries the same schedules under the same seed', async () => {
    const runs = await Promise.all([1, 2].map(() => prove(lostUpdate, '--seed', '11', '--schedules', '300', '--json')));
    const [one, two] = runs.map(({ stdout }) => JSON.parse(stdout) as ProveDocument);
    expect(one?.schedules).toBe(two?.schedules);
    expect(one?.counterexample?.schedule).toBe(two?.counterexample?.schedule);
    expect(one?.counterexample).not.toBeNull();
  });

  it('leaves no database behind', async () => {
    await prove(mistake, '--repeat', '1');
    const left = await database.rows(
      `select datname from pg_database d
        where datname like 'oncehook_scratch_%'
          and not exists (select from pg_stat_activity a where a.datname = d.datname)`,
    );
    expect(left).toEqual([]);
  });
});

describe('oncehook prove loads a file as the application itself does', () => {
  it('with its path aliases, specifiers in .js that mean .ts, and one copy of every package', async () => {
    mkdirSync(join(dir, 'lib'));
    const options = { paths: { '@lib/*': ['./lib/*'] }, module: 'NodeNext', moduleResolution: 'NodeNext' };
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
    writeFileSync(join(dir, 'lib/base.ts'), "export { proof as sound } from '../c14-corrected.js';\n");
    const text = `import { sound } from '@lib/base.js';
import pg from 'pg';
import { defineProof } from 'oncehook/testing';
const state = (db: { pool: unknown }) => {
  if (!(db.pool instanceof pg.Pool)) throw new Error('pg was loaded twice');
  return 1;
};
export default defineProof({ ...sound, state });
`;
    const file = join(dir, 'aliased.ts');
    writeFileSync(file, text);
    const { code, stdout, stderr } = await prove(file, '--repeat', 's1,1');
    expect([code, stdout, stderr]).toEqual([0, 'This schedule ends as it should.\n', '']);
  });
});

describe("the application's own connections", () => {
  it('lead to the scratch database, so that what they write is seen, and to no other', async () => {
    await database.rows('create table points_given (points integer not null)');
    const file = write(
      'own-pool.ts',
      `import pg from 'pg';
import { applied, defineHandlers, duplicate } from 'oncehook';
import { defineProof } from 'oncehook/testing';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1 });
await pool.query('select 1');

const handlers = defineHandlers({
  'points.earned': async (event, tx) => {
    const { rowCount } = await tx.query('insert into known (id) values (1) on conflict do nothing');
    if (rowCount === 0) return duplicate();
    await pool.query('insert into points_given (points) values (10)');
    return applied();
  },
});
export const proof = defineProof({
  handlers,
  setup: (db) => db.query('create table points_given (points integer not null); create table known (id integer primary key)'),
  events: [{ type: 'points.earned', payload: {} }],
  state: async (db) => (await db.query('select sum(points)::int as points from points_given')).rows,
});
`,
    );
    const { code, stdout } = await prove(file, '--json');
    const { counterexample } = JSON.parse(stdout) as ProveDocument;
    expect(code).toBe(1);
    expect(counterexample).toMatchObject({
      kind: 'end',
      differences: [{ path: 'state[0].points', expected: 10, found: 20 }],
    });
    expect(await database.rows('select * from points_given')).toEqual([]);
  });
});

describe('oncehook prove ends, and leaves no database behind,', () => {
  /** Says which database is its own. */
  const NAMED = `setup: async (db) => { await sound.setup(db); process.stderr.write(new URL(db.url).pathname + '\\n'); },`;

  async function isGone(stderr: string): Promise<boolean> {
    const name = /oncehook_scratch_[0-9a-f]+/.exec(stderr)?.[0];
    if (name === undefined) throw new Error(`No scratch database is named in: ${stderr}`);
    return (await database.rows('select from pg_database where datname = $1', [name])).length === 0;
  }

  it('though modules of the application hold timers and connections', async () => {
    const before = `import pg from 'pg';
setInterval(() => undefined, 1_000);
await new pg.Pool({ connectionString: process.env.DATABASE_URL }).query('select 1');`;
    const { code, stdout, stderr } = await prove(soundWith('timer.ts', { before, more: NAMED }), '--repeat', 's1,1');
    expect([code, stdout]).toEqual([0, 'This schedule ends as it should.\n']);
    expect(await isGone(stderr)).toBe(true);
  });

  it('though the file cannot be loaded and has begun something', async () => {
    const before = `setInterval(() => undefined, 1_000);
process.stderr.write(process.env.DATABASE_URL + '\\n');
throw new Error('not today');`;
    const { code, stderr } = await prove(soundWith('timer-and-throw.ts', { before }));
    expect(code).toBe(2);
    expect(stderr).toContain('not today');
    expect(await isGone(stderr)).toBe(true);
  });

  it('when code that nobody awaits fails, with 2 and its line', async () => {
    const more = `${NAMED} given: (db) => { void db.query('select no_such_column'); },`;
    const { code, stderr } = await prove(soundWith('stray.ts', { more }));
    expect(code).toBe(2);
    expect(stderr).toMatch(/Code that nobody awaits failed: .*no_such_column/s);
    expect(await isGone(stderr)).toBe(true);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('at %s, with %i, whatever the proof is waiting for', async (signal, expected) => {
    const more = `${NAMED} given: () => new Promise(() => { process.stderr.write('waits\\n'); }),`;
    const { code, stdout, stderr } = await runCommand(['prove', soundWith(`hangs-${signal}.ts`, { more })], env, '', {
      signal,
      when: 'waits\n',
    });
    expect([code, stdout]).toEqual([expected, '']);
    expect(await isGone(stderr)).toBe(true);
  });
});

describe('oncehook prove ends with 2 and the next step', () => {
  it('without a file', async () => {
    const { code, stderr } = await prove('./nowhere.ts');
    expect([code, stderr]).toEqual([2, 'oncehook: There is no file ./nowhere.ts\n']);
  });

  it('for a file that does not parse, with the place', async () => {
    const { code, stderr } = await prove(write('broken.ts', 'export const proof = {;\n'));
    expect(code).toBe(2);
    expect(stderr).toMatch(/broken\.ts cannot be loaded: .*broken\.ts/s);
  });

  it('for a file without a proof', async () => {
    const { code, stderr } = await prove(write('empty.ts', 'export const handlers = 1;\n'));
    expect(code).toBe(2);
    expect(stderr).toContain('exports no proof: export const proof = defineProof({');
  });

  it('for a proof that lacks something, naming all of it', async () => {
    const { code, stderr } = await prove(write('partial.ts', 'export const proof = { events: [] };\n'));
    expect(code).toBe(2);
    expect(stderr).toContain('handlers must be what defineHandlers() returns');
    expect(stderr).toContain('state must be a function');
    expect(stderr).toContain('events must be one to 6 events');
  });

  it('for a function of the proof that throws, with its line', async () => {
    const text = `import { proof as sound } from ${JSON.stringify(sound)};
export const proof = { ...sound, given: async (db: { query(sql: string): unknown }) => { await db.query('select no_such_column'); } };
`;
    const { code, stderr } = await prove(write('throws.ts', text));
    expect(code).toBe(2);
    expect(stderr).toMatch(/The proof's given failed: .*no_such_column.*throws\.ts/s);
  });

  it('for a proof in which no event is applied, saying what became of each', async () => {
    const more = `events: [{ type: 'payment_intent.suceeded', payload: {} }],`;
    const { code, stdout, stderr } = await prove(soundWith('misspelt.ts', { more }));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('No event of this proof is applied');
    expect(stderr).toContain('  payment_intent.suceeded: ignored\n');
    expect(stderr).toContain('There are handlers for payment_intent.succeeded.');
  });

  it('for a schedule that is none of this proof', async () => {
    const { code, stderr } = await prove(sound, '--repeat', '7');
    expect(code).toBe(2);
    expect(stderr).toContain('--repeat 7 is not a schedule of this proof');
  });

  it('without a database', async () => {
    const { code, stderr } = await runCommand(['prove', sound], {});
    expect(code).toBe(2);
    expect(stderr).toContain('DATABASE_URL');
  });

  it('for a server that does not answer', async () => {
    const { code, stderr } = await prove(sound, '--database-url', 'postgres://nobody@127.0.0.1:1/none');
    expect(code).toBe(2);
    expect(stderr).toMatch(/PostgreSQL does not answer at 127\.0\.0\.1:1\. Start one/);
  });

  it('for a role that may not create databases', async () => {
    await database.rows(
      `do $$ begin create role prove_reader login password 'reader'; exception when duplicate_object then null; end $$`,
    );
    const url = new URL(inject('postgresUrl'));
    url.username = 'prove_reader';
    url.password = 'reader';
    const { code, stderr } = await prove(sound, '--database-url', url.href);
    expect(code).toBe(2);
    expect(stderr).toContain('alter role prove_reader createdb');
  });
});
